// The end-to-end cost of the exchange: a real mosquitto, the gateway with SQLite (synchronous=FULL) in this process,
// and an operator with devices that answer at once in another; 20 devices on one connection, and 1,000 on their own.
// For comparison, in the same run: plain request/answer pairs over the same broker and connections, and plain fsyncs of
// groups.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <asio.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/gateway/gateway.h"
#include "core/handshake/topics.h"
#include "plugins/registry.h"
#include "storage/sqlite_store.h"
#include "tests/bench/bare_sync.h"
#include "tests/bench/counted_link.h"
#include "tests/bench/exchange_fleet.h"
#include "tests/bench/seams.h"
#include "tests/bench/socket_bytes.h"
#include "tests/unit/transports/mosquitto_child.h"
#include "transports/mqtt.h"

namespace berth::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kGroup = 1000;  // pods applied at once in each round
constexpr int kPods = kRounds * kGroup;
constexpr int kPairs = 5000;  // plain pairs before them
constexpr int kLone = 200;    // pods applied one after another
constexpr int kPairsAtOnce = 64;
constexpr int kStreamedRounds = 10;                  // each of a group without streams and one beside them
constexpr int kStreams = 3;                          // from as many devices
constexpr std::uint64_t kStreamsBegin = 256 * 1024;  // they run once so many bytes have come
constexpr int kHandlersPerTurn = 128;                // as in firmware-host/loop.h

class SteadyClock final : public Clock {
 public:
  Millis now() const override {
    return std::chrono::duration_cast<Millis_>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  Millis wall() const override { return 1'700'000'000'000 + now(); }

 private:
  using Millis_ = std::chrono::milliseconds;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Sends plain requests to all connections of the devices in turn, a constant number at a time.
class Pairs final : public Transport::Handler {
 public:
  Pairs(Transport& link, std::size_t connections) : link_(link), connections_(connections) { link.set_handler(this); }

  void ask_for(int pairs) {
    total_ += pairs;
    for (int asked = 0; asked < kPairsAtOnce; ++asked) ask();
  }
  bool is_done() const { return got_ == sent_; }

 private:
  void on_link(bool up) override {
    if (up) link_.subscribe(kBareAnswer, 1);
  }
  void on_message(const Message& /*message*/) override {
    ++got_;
    if (sent_ < total_) ask();
  }
  void ask() {
    Message message;
    message.topic = bare_topic(static_cast<std::size_t>(sent_) % connections_);
    message.payload = std::string(300, 'x');
    ++sent_;
    link_.send(message);
  }

  Transport& link_;
  const std::size_t connections_;
  int total_ = 0, sent_ = 0, got_ = 0;
};

// CPU that the three processes have used, in seconds.
struct Cpu {
  double gateway = 0, fleet = 0, broker = 0;
};

class Run {
 public:
  // `fleet` and `broker` outlive it.
  Run(int port, const std::string& path, Layout layout, Fleet& fleet, pid_t broker)
      : fleet_(fleet),
        broker_(broker),
        pairs_link_(loop_, log_, link_options(port, "pairs")),
        pairs_(pairs_link_, layout.connections) {
    pairs_link_.start();
    spin("the broker", [&] { return pairs_link_.is_up(); });
    spin("the devices", [&] { return fleet_.is_up(); });
    auto opened = SqliteStore::open(path, log_);
    if (!opened) fail(opened.error().message);
    store_ = std::move(*opened);
    options_.profiles.push_back(default_profile());
    const std::set<int> before = open_files();
    gateway_link_ = std::make_unique<MqttTransport>(loop_, log_, gateway_link_options(port));
    counted_ = std::make_unique<CountedLink>(*gateway_link_);
    gateway_ = std::make_unique<Gateway>(options_, registry_, clock_, *counted_, *store_, timers_, log_);
    if (!gateway_->start().is_success()) fail("the gateway does not start");
    gateway_link_->set_on_turn([this] { received_ = true; });
    gateway_link_->start();
    spin("the nodes", [&] { return gateway_->not_ready().empty() && gateway_->nodes().all().size() == layout.nodes; });
    for (const int file : open_files()) {
      if (!before.contains(file)) gateway_sockets_.insert(file);
    }
  }

  // Alternates pairs and binds, so that a disturbance of the machine affects both.
  void run_rounds() {
    counted_->forget();  // exclude the start
    for (int round = 0; round < kRounds; ++round) {
      make_pairs();
      bind_group(round * kGroup);
    }
  }
  double pairs_per_second() const { return kRounds * kPairs / pairs_s_; }
  double binds_per_second() const { return kPods / binds_s_; }
  // By turns binds alone and beside kStreams streams.
  void run_streamed_rounds() {
    int next = kPods;
    for (int round = 0; round < kStreamedRounds; ++round) {
      alone_s_ += seconds_to_bind(next, kGroup);
      fleet_.stream(kStreams);
      const std::uint64_t before = fleet_.streamed();
      spin("the streams", [&] { return fleet_.streamed() > before + kStreamsBegin; });
      const std::uint64_t begun = fleet_.streamed();
      streamed_s_ += seconds_to_bind(next + kGroup, kGroup);
      streamed_ += fleet_.streamed() - begun;
      fleet_.stream(0);
      next += 2 * kGroup;
    }
  }
  // Of the speed without streams, what is left beside them.
  double share_with_streams() const { return alone_s_ / streamed_s_; }
  double streamed_bytes_per_second() const { return static_cast<double>(streamed_) / streamed_s_; }
  std::uint64_t bytes_a_bind() const { return bytes_ / kPods; }
  std::uint64_t commits() const { return commits_; }
  const std::map<std::string, CountedLink::Count>& counts() const { return counted_->counts(); }
  // Per bind, in microseconds instead of seconds.
  Cpu cpu_us() const { return {us_a_bind(cpu_s_.gateway), us_a_bind(cpu_s_.fleet), us_a_bind(cpu_s_.broker)}; }

  // Milliseconds from the command to the operator until the pod is bound, one pod at a time; sorted.
  std::vector<double> lone_ms() {
    std::vector<double> times;
    const int first = kPods + 2 * kStreamedRounds * kGroup;
    for (int pod = first; pod < first + kLone; ++pod) {
      const auto began = std::chrono::steady_clock::now();
      fleet_.apply(pod, 1);
      spin("a single pod", [&] { return is_bound(pod); });
      times.push_back(seconds_since(began) * 1000);
    }
    std::sort(times.begin(), times.end());
    return times;
  }

 private:
  double seconds_to_bind(int first, int pods) {
    const auto began = std::chrono::steady_clock::now();
    fleet_.apply(first, pods);
    int next = first;
    spin("all pods to be bound", [&] {
      while (next < first + pods && is_bound(next)) ++next;
      return next == first + pods;
    });
    return seconds_since(began);
  }
  void make_pairs() {
    const auto began = std::chrono::steady_clock::now();
    pairs_.ask_for(kPairs);
    spin("the plain pairs", [&] { return pairs_.is_done(); });
    pairs_s_ += seconds_since(began);
  }
  void bind_group(int first) {
    const std::uint64_t bytes = bytes_on(gateway_sockets_), commits = store_->commits();
    std::uint64_t manifests = 0;
    for (int pod = first; pod < first + kGroup; ++pod) manifests += manifest(pod).size();
    const Cpu cpu = used();
    binds_s_ += seconds_to_bind(first, kGroup);
    const Cpu after = used();
    cpu_s_.gateway += after.gateway - cpu.gateway;
    cpu_s_.fleet += after.fleet - cpu.fleet;
    cpu_s_.broker += after.broker - cpu.broker;
    commits_ += store_->commits() - commits;
    bytes_ += bytes_on(gateway_sockets_) - bytes - manifests;
  }
  static MqttOptions link_options(int port, const std::string& id) {
    MqttOptions options;
    options.port = port;
    options.client_id = id;
    return options;
  }
  static double us_a_bind(double seconds) { return seconds * 1e6 / kPods; }
  Cpu used() const { return {cpu_s_of(getpid()), cpu_s_of(fleet_.process()), cpu_s_of(broker_)}; }
  // As in firmware-host/gateway/app.cc.
  static MqttOptions gateway_link_options(int port) {
    MqttOptions options = link_options(port, "gateway");
    options.read_rest = 10;
    options.awaited_below = Topics("default").root() + "gateways/";
    options.gather_acks = true;
    return options;
  }
  void turn() {
    if (!gateway_->finish_turn().is_success()) fail("a commit failed");
  }
  bool is_bound(int pod) const {
    const auto found = gateway_->bindings().find(uid_of(pod));
    return found != gateway_->bindings().end() && found->second.row.phase == Phase::bound;
  }
  std::string state() const {
    if (gateway_ == nullptr) return "no gateway";
    std::string text = std::to_string(gateway_->objects().pods().all().size()) + " pods are known";
    std::map<std::string, int> phases;
    for (const auto& [uid, binding] : gateway_->bindings()) ++phases[std::string(to_string(binding.row.phase))];
    for (const auto& [phase, rows] : phases) text += ", " + std::to_string(rows) + " in phase " + phase;
    return text + (gateway_link_->is_up() ? "" : ", a link is down");
  }
  template <typename Done>
  void spin(const char* what, Done done) {
    const auto began = std::chrono::steady_clock::now();
    while (!done()) {
      if (seconds_since(began) > 20) fail(std::string("timed out waiting for ") + what + ": " + state());
      // Like the gateway's own loop: ready handlers, due timers, then the end of the turn.
      int ran = 0;
      while (ran < kHandlersPerTurn && loop_.poll_one() > 0) ++ran;
      if (ran == 0) loop_.run_one_for(std::chrono::milliseconds(1));
      if (gateway_ == nullptr) continue;
      if (timers_.run_due(clock_.now()) > 0) received_ = true;
      if (std::exchange(received_, false)) turn();
    }
  }

  asio::io_context loop_;
  WarningLog log_;
  SteadyClock clock_;
  Timers timers_;
  Registry registry_ = in_tree_registry();
  GatewayOptions options_;
  Fleet& fleet_;
  const pid_t broker_;
  MqttTransport pairs_link_;
  Pairs pairs_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<MqttTransport> gateway_link_;
  std::unique_ptr<CountedLink> counted_;
  std::unique_ptr<Gateway> gateway_;
  std::set<int> gateway_sockets_;
  bool received_ = false;  // a message in this turn
  double pairs_s_ = 0, binds_s_ = 0, alone_s_ = 0, streamed_s_ = 0;
  std::uint64_t streamed_ = 0;
  Cpu cpu_s_;
  std::uint64_t commits_ = 0, bytes_ = 0;
};

double fsync_groups_per_second(const std::string& folder) {
  constexpr int kGroups = 200;
  const int file = open((folder + "/bare").c_str(), O_CREAT | O_WRONLY, 0600);
  const std::string group(16 * 1024, 'x');
  const auto began = std::chrono::steady_clock::now();
  for (int done = 0; done < kGroups; ++done) {
    if (write(file, group.data(), group.size()) < 0 || fdatasync(file) != 0) fail("fsync failed");
  }
  close(file);
  return kGroups / seconds_since(began);
}

void measure(const std::string& folder, Layout layout) {
  const TempDir directory;
  const int port = free_port();
  // The settings of the gateway's embedded broker that affect speed (firmware-host/gateway/broker_config.cc).
  const MosquittoChild broker(
      directory, port,
      "allow_anonymous true\nmax_inflight_messages 100\nset_tcp_nodelay true\nmax_queued_messages 100000\n");
  Fleet fleet(port, layout);
  Run run(port, folder + "/exchange-" + std::to_string(layout.nodes) + ".db", layout, fleet, broker.pid());
  run.run_rounds();
  const double pairs = run.pairs_per_second(), binds = run.binds_per_second();
  const std::uint64_t bytes = run.bytes_a_bind(), commits = run.commits();
  const auto counts = run.counts();
  run.run_streamed_rounds();
  const std::vector<double> lone = run.lone_ms();
  std::printf("%zu devices on %zu connections\n", layout.nodes, layout.connections);
  std::printf("plain: %.0f request/answer pairs a second over this broker, %.0f fsyncs of 16 KiB a second\n", pairs,
              fsync_groups_per_second(folder));
  std::printf("%d binds: %.0f a second, %.0f %% of half the pairs (target: 80 %%, or 20000 a second)\n", kPods, binds,
              100 * binds / (pairs / 2));
  const Cpu cpu = run.cpu_us();
  std::printf("  %.3f commits per bind; CPU per bind: %.0f us of the gateway, %.0f of the fleet, %.0f of the broker\n",
              static_cast<double>(commits) / kPods, cpu.gateway, cpu.fleet, cpu.broker);
  std::printf("beside %d streams at full speed, %.1f MiB a second: %.1f %% of the binds without (limit: 90 %%)\n",
              kStreams, run.streamed_bytes_per_second() / (1024 * 1024), 100 * run.share_with_streams());
  std::printf("%llu bytes on the wire per bind at the gateway's socket, not counting one manifest (limit: 900)\n",
              static_cast<unsigned long long>(bytes));
  for (const auto& [cause, count] : counts) {
    std::printf("  %-14s %5.2f messages, %4.0f bytes per bind\n", cause.c_str(),
                static_cast<double>(count.messages) / kPods, static_cast<double>(count.bytes) / kPods);
  }
  std::printf(
      "single bind, end to end: p50 %.2f ms, p99 %.2f ms; limit: 3 ms plus 5 syncs; a sync took %.2f ms at p99\n\n",
      lone[kLone / 2], lone[kLone * 99 / 100], bare_sync_ms(folder));
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  // Not under /tmp, which may be in memory.
  std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/exchange-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) berth::bench::fail("cannot create a folder here");
  berth::bench::measure(folder, {.nodes = 20, .connections = 1});
  berth::bench::measure(folder, {.nodes = 1000, .connections = 1000});
  std::filesystem::remove_all(folder);
  std::printf("2 passed, 0 failed\n");
  return 0;
}
