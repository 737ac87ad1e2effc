#include "tests/bench/exchange_fleet.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "core/handshake/topics.h"
#include "core/log.h"
#include "tests/bench/exchange_streams.h"
#include "tests/bench/ready_device.h"
#include "transports/mqtt.h"

namespace berth::bench {

// Pods that the operator is to apply, and streams that are to run: what the other process writes to this one.
struct Command {
  int first = 0, pods = 0, streams = 0;
};

// What the two processes share.
struct Progress {
  std::atomic<bool> is_up{false};
  std::atomic<std::uint64_t> streamed{0};
};

namespace {

constexpr std::size_t kConnectedAtOnce = 50;  // more than the broker's backlog would be refused, and come again later

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

MqttOptions link_options(int port, const std::string& id) {
  MqttOptions options;
  options.port = port;
  options.client_id = id;
  return options;
}

void publish(MqttTransport& link, std::string topic, std::string payload, bool retain, int qos = 1) {
  Message message;
  message.qos = qos;
  message.topic = std::move(topic);
  message.payload = std::move(payload);
  message.retain = retain;
  link.send(message);
}

std::string node_name(std::size_t node) { return "node-" + std::to_string(10'000 + node); }

// Devices that share one connection to the broker.
class Devices final : public Transport::Handler {
 public:
  Devices(asio::io_context& loop, std::unique_ptr<MqttTransport> link, std::string bare, std::vector<std::string> nodes)
      : loop_(loop), link_(std::move(link)), bare_topic_(std::move(bare)), nodes_(std::move(nodes)) {
    link_->set_handler(this);
    link_->start();
  }
  bool is_up() const { return link_->is_up(); }
  // Those of its nodes that are among the first of all.
  void serve_streams(int streams) {
    servers_.clear();
    for (int node = 0; node < streams; ++node) {
      if (std::find(nodes_.begin(), nodes_.end(), node_name(static_cast<std::size_t>(node))) == nodes_.end()) continue;
      servers_.push_back(std::make_unique<StreamOfLines>(loop_, *link_, node_name(static_cast<std::size_t>(node))));
    }
  }

 private:
  void on_link(bool up) override {
    if (!up) return;
    link_->subscribe(bare_topic_, 1);
    for (const std::string& node : nodes_) {
      link_->subscribe(topics_.node_requests(node), 1);
      const std::string who = R"({"incarnation":")" + incarnation_of(node) + R"(","session":"1",)";
      publish(*link_, topics_.node_state(node),
              who + R"("bootId":"b","sequence":"1","heartbeatMs":"3600000",)" +
                  R"("allocatable":{"cpu":"64","memory":"64Gi","pods":"2000"}})",
              true);
      publish(*link_, topics_.node_presence(node), who + R"("online":true})", true);
    }
  }
  void on_message(const Message& message) override {
    for (const auto& server : servers_) {
      if (server->on_message(message)) return;
    }
    if (message.topic == bare_topic_) return publish(*link_, kBareAnswer, message.payload, false);
    const std::string node(topics_.split(message.topic)[1]);
    // As core/agent/answers.cc: those that are asked for again are of QoS 0, and so are the requests.
    for (std::string& payload : encode_all(ready_answers(node, message.payload, vias_))) {
      publish(*link_, topics_.answers("gateway", node), std::move(payload), false, message.qos);
    }
  }

  asio::io_context& loop_;
  std::unique_ptr<MqttTransport> link_;
  std::vector<std::unique_ptr<StreamOfLines>> servers_;
  std::string bare_topic_;
  std::vector<std::string> nodes_;
  Topics topics_{"default"};
  Vias vias_;
};

class FleetProcess {
 public:
  FleetProcess(int port, Layout layout, int commands, Progress& progress)
      : port_(port),
        layout_(layout),
        progress_(progress),
        operator_(loop_, log_, link_options(port, "operator")),
        reader_(loop_, log_, link_options(port, "reader"), progress.streamed),
        commands_(loop_, commands) {}

  void run() {
    operator_.start();
    connect_some();
    read_command();
    loop_.run();
  }

 private:
  void connect_some() {
    const auto is_up = [](const auto& each) { return each->is_up(); };
    const bool all = operator_.is_up() && std::all_of(devices_.begin(), devices_.end(), is_up);
    if (all && devices_.size() == layout_.connections) {
      progress_.is_up = true;
      return;
    }
    const std::size_t end = std::min(devices_.size() + kConnectedAtOnce, layout_.connections);
    while (all && devices_.size() < end) connect(devices_.size());
    timer_.expires_after(std::chrono::milliseconds(2));
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) connect_some();
    });
  }
  void connect(std::size_t connection) {
    std::vector<std::string> nodes;
    for (std::size_t node = connection; node < layout_.nodes; node += layout_.connections) {
      nodes.push_back(node_name(node));
    }
    const std::string id = "devices-" + std::to_string(connection);
    devices_.push_back(std::make_unique<Devices>(loop_,
                                                 std::make_unique<MqttTransport>(loop_, log_, link_options(port_, id)),
                                                 bare_topic(connection), std::move(nodes)));
  }
  void read_command() {
    asio::async_read(commands_, asio::buffer(&command_, sizeof command_),
                     [this](const asio::error_code& error, std::size_t) {
                       if (error) _exit(0);  // the benchmark has ended
                       if (command_.pods > 0) apply();
                       if (command_.streams != streams_) set_streams(command_.streams);
                       read_command();
                     });
  }

  // One command of an operator, as a file with many manifests.
  void apply() {
    operator_.gather(true);
    for (int pod = command_.first; pod < command_.first + command_.pods; ++pod) {
      publish(operator_, "berth/v1/default/desired/pods/default/pod-" + std::to_string(pod), manifest(pod), true);
    }
    operator_.gather(false);
  }

  // From the first devices, one each.
  void set_streams(int streams) {
    streams_ = streams;
    reader_.read_from(streams);
    for (const auto& device : devices_) device->serve_streams(streams);
  }

  const int port_;
  const Layout layout_;
  Progress& progress_;
  asio::io_context loop_;
  SilentLog log_;
  MqttTransport operator_;
  StreamReader reader_;
  std::vector<std::unique_ptr<Devices>> devices_;
  int streams_ = 0;
  asio::steady_timer timer_{loop_};
  asio::posix::stream_descriptor commands_;
  Command command_;
};

}  // namespace

std::string uid_of(int number) { return "bench-7425-40de-944b-" + std::to_string(100'000'000 + number); }

std::string manifest(int number) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"sensor"},"name":"pod-)" +
         std::to_string(number) + R"(","namespace":"default","uid":")" + uid_of(number) +
         R"("},"spec":{"containers":[{"image":"registry.lan/sensor:1.4","name":"c","resources":{"requests":)" +
         R"({"cpu":"1m","memory":"1Mi"}}}]}})";
}

std::string bare_topic(std::size_t connection) { return "bare/request/" + std::to_string(connection); }

void fail(const std::string& what) {
  std::printf("could not measure: %s\n0 passed, 1 failed\n", what.c_str());
  std::exit(1);
}

double cpu_s_of(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) fail("a process has ended");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

struct Fleet::Shared : Progress {};

Fleet::Fleet(int port, Layout layout) {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no shared memory");
  shared_ = new (memory) Shared;
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) fail("no pipe");
  process_ = fork();
  if (process_ < 0) fail("no process");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pipe_ends[1]);
    FleetProcess(port, layout, pipe_ends[0], *shared_).run();
    _exit(0);
  }
  close(pipe_ends[0]);
  commands_ = pipe_ends[1];
}

Fleet::~Fleet() {
  close(commands_);
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

bool Fleet::is_up() const { return shared_->is_up; }

std::uint64_t Fleet::streamed() const { return shared_->streamed; }

void Fleet::apply(int first, int pods) { send({first, pods, streams_}); }

void Fleet::stream(int streams) {
  streams_ = streams;
  send({0, 0, streams_});
}

void Fleet::send(const Command& command) {
  if (write(commands_, &command, sizeof command) != sizeof command) fail("the fleet has ended");
}

}  // namespace berth::bench
