// The cost of the gateway's store: bytes and syncs per bind, for single binds and under load; start time; an idle hour.
// Gateway and SQLite are real, on this machine's disk; the devices answer at once.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/api/defaults.h"
#include "core/gateway/gateway.h"
#include "plugins/registry.h"
#include "storage/sqlite_store.h"
#include "tests/bench/bare_sync.h"
#include "tests/bench/counted_io.h"
#include "tests/bench/ready_device.h"
#include "tests/bench/seams.h"
#include "tests/unit/hand_clock.h"

namespace berth::bench {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

std::string manifest(const std::string& name, const std::string& uid) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"sensor"},"name":")" + name +
         R"(","namespace":"default","uid":")" + uid +
         R"("},"spec":{"containers":[{"image":"registry.lan/sensor:1.4","name":"c","resources":{"requests":)" +
         R"({"cpu":"1m","memory":"1Mi"}}}]}})";
}

std::string uid_of(int number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-7425-40de-944b-e07fc1f90ae7", static_cast<unsigned>(number) * 2654435761u);
  return text;
}

// A gateway with its store, and devices that answer every request.
class Site {
 public:
  explicit Site(std::string path) : path_(std::move(path)) {
    options_.profiles.push_back(default_profile());
    options_.seed = 1;
  }

  // Opens the store and starts the gateway, which builds queue and cache.
  void start() {
    const auto began = std::chrono::steady_clock::now();
    auto opened = SqliteStore::open(path_, log_);
    if (!opened) cannot_measure(opened.error().message);
    store_ = std::move(*opened);
    opened_ms_ = milliseconds_since(began);
    gateway_ = std::make_unique<Gateway>(options_, registry_, clock_, transport_, *store_, timers_, log_);
    require(gateway_->start(), "start");
  }
  double opened_ms() const { return opened_ms_; }

  void connect() {
    transport_.up = true;
    gateway_->on_link(true);
    turn();
    const std::vector<Message> sent = std::exchange(transport_.sent, {});
    for (const Message& message : sent) {
      if (message.topic == topics_.gateway_fence("gateway")) gateway_->on_message(message);
    }
    turn();
  }
  void turn() { require(gateway_->finish_turn(), "turn"); }

  void add_node(const std::string& name) {
    receive(topics_.node_state(name),
            R"({"incarnation":"inc-)" + name +
                R"(","bootId":"b","session":"1","sequence":"1","heartbeatMs":"5000","labels":{"zone":"z)" +
                name.substr(name.size() - 1) +
                R"("},"taints":[],"volumes":[],"allocatable":{"cpu":"64","memory":"64Gi","pods":"2000"}})");
    receive(topics_.node_presence(name), R"({"incarnation":"inc-)" + name + R"(","session":"1","online":true})");
  }
  void heartbeat(const std::string& name, int sequence) {
    receive(topics_.node_heartbeat(name),
            R"({"incarnation":"inc-)" + name + R"(","session":"1","sequence":")" + std::to_string(sequence) + R"("})");
  }
  void apply(int number) {
    const std::string name = "pod-" + std::to_string(number);
    manifest_bytes_ += manifest(name, uid_of(number)).size();
    receive(topics_.desired(Kind::pod, "default/" + name), manifest(name, uid_of(number)));
  }
  // Answers all requests sent so far. False: there was none.
  bool answer_all() {
    const std::vector<Message> sent = std::exchange(transport_.sent, {});
    bool any = false;
    for (const Message& message : sent) {
      const auto levels = topics_.split(message.topic);
      if (levels.size() == 3 && levels[0] == "nodes" && levels[2] == "requests") {
        any = answer(std::string(levels[1]), message.payload) || any;
      }
    }
    return any;
  }
  void pass(Millis ms) {
    const Millis end = clock_.now_ms + ms;
    while (timers_.next() && *timers_.next() <= end) {
      clock_.now_ms = std::max(clock_.now_ms, *timers_.next());
      timers_.run_due(clock_.now_ms);
      turn();
    }
    clock_.now_ms = end;
  }

  std::size_t bound() const {
    return static_cast<std::size_t>(
        std::count_if(gateway_->bindings().begin(), gateway_->bindings().end(),
                      [](const auto& entry) { return entry.second.row.phase == Phase::bound; }));
  }
  void end() {
    gateway_.reset();
    store_.reset();
    timers_ = Timers();
    transport_.up = false;
  }
  SqliteStore& store() { return *store_; }
  std::uint64_t manifest_bytes() const { return manifest_bytes_; }

 private:
  void receive(const std::string& topic, const std::string& payload) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    gateway_->on_message(message);
  }
  bool answer(const std::string& node, const std::string& payload) {
    const std::vector<std::string> answers = encode_all(ready_answers(node, payload, vias_));
    for (const std::string& each : answers) receive(topics_.answers("gateway", node), each);
    return !answers.empty();
  }

  std::string path_;
  GatewayOptions options_;
  Registry registry_ = in_tree_registry();
  Topics topics_{"default"};
  Vias vias_;
  HandClock clock_;
  WarningLog log_;
  RecordingTransport transport_;
  Timers timers_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<Gateway> gateway_;
  std::uint64_t manifest_bytes_ = 0;
  double opened_ms_ = 0;
};

std::string node_name(int number) { return "node-" + std::to_string(10'000 + number); }

void settle(Site& site) {
  for (int round = 0; round < 20 && site.answer_all(); ++round) site.turn();
}

void measure_lone(const std::string& folder) {
  Site site(folder + "/lone.db");
  site.start();
  site.turn();
  for (int i = 0; i < 20; ++i) site.add_node(node_name(i));
  site.turn();
  site.connect();
  settle(site);
  constexpr int kPods = 300;
  const DiskUse before = disk_use();
  std::vector<double> times;
  for (int i = 0; i < kPods; ++i) {
    const auto began = std::chrono::steady_clock::now();
    site.apply(i);
    site.turn();
    settle(site);
    times.push_back(milliseconds_since(began));
  }
  if (site.bound() != kPods) cannot_measure("not every pod was bound");
  site.end();  // counts the checkpoint of the log, which happens eventually
  const DiskUse used = disk_use() - before;
  std::sort(times.begin(), times.end());
  std::printf("single bind: %" PRIu64 " bytes, including its manifest of %" PRIu64
              ", %.2f syncs, p50 %.2f ms, p99 %.2f ms\n",
              used.bytes / kPods, site.manifest_bytes() / kPods, static_cast<double>(used.syncs) / kPods,
              times[kPods / 2], times[kPods * 99 / 100]);
  std::printf("  limits: 4400 bytes; p99 of 3 ms plus 5 syncs; a sync took %.2f ms at p99\n", bare_sync_ms(folder));
}

void measure_load(const std::string& folder) {
  Site site(folder + "/load.db");
  site.start();
  site.turn();
  for (int i = 0; i < 20; ++i) site.add_node(node_name(i));
  site.turn();
  site.connect();
  settle(site);
  constexpr int kPods = 10'000;
  constexpr int kGroup = 250;
  const DiskUse before = disk_use();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kPods; ++i) {
    site.apply(i);
    if (i % kGroup != kGroup - 1) continue;
    site.turn();
    settle(site);
  }
  const double took_ms = milliseconds_since(began);
  if (site.bound() != kPods) cannot_measure("not every pod was bound under load: " + std::to_string(site.bound()));
  const std::uint64_t counted = site.store().bytes_written();
  site.end();
  const DiskUse used = disk_use() - before;
  std::printf("under load: %" PRIu64 " bytes per bind, including its manifest of %" PRIu64
              " bytes, %.3f syncs, %.0f binds/s\n",
              used.bytes / kPods, site.manifest_bytes() / kPods, static_cast<double>(used.syncs) / kPods,
              kPods / took_ms * 1000);
  std::printf("  counted by the store itself, without its close: %" PRIu64
              " bytes; limit: 320 bytes plus the manifest\n",
              counted / kPods);
}

constexpr int kStartNodes = 5'000;
constexpr int kStartPods = 50'000;
constexpr int kStartWaiting = 1'000;  // pods that wait; the others are bound

void fill_for_start(const std::string& path) {
  Site site(path);
  site.start();
  for (int i = 0; i < kStartNodes; ++i) site.add_node(node_name(i));
  site.turn();
  Objects objects(site.store());
  for (int i = 0; i < kStartPods; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    const std::string node = node_name(i % kStartNodes);
    Row row;
    row.uid = uid_of(i);
    row.pod = "default/" + name;
    row.node = node;
    row.incarnation = incarnation_of(node);
    row.epoch = {1, site.store().next_position()};
    row.promise_ms = 60'000;
    if (i >= kStartWaiting) {
      require(site.store().begin(row.uid, encode(row), static_cast<int>(Phase::bound)), "begin");
    }
    objects.pods().put(make_counted<const Pod>(*decode_accepted_pod(*Json::parse(manifest(name, row.uid)))));
    objects.pods().save(row.pod);
    if (i % 500 == 499) require(site.store().commit(), "commit");
  }
  site.end();
}

// Measured by the process itself since exec.
struct Started {
  double wall_ms = 0, cpu_ms = 0, open_ms = 0, resident_mib = 0, most_mib = 0;
  bool operator<(const Started& other) const { return cpu_ms < other.cpu_ms; }
};

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  long all = 0, pages = 0;
  if (!(file >> all >> pages)) cannot_measure("/proc/self/statm");
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// main() of the child process, which starts on an existing store.
int start_once(const std::string& path) {
  Site site(path);
  site.start();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_usec) / 1000;
  };
  // Rows, ms of CPU, ms to open, MiB resident, peak MiB.
  std::printf("%zu %.2f %.2f %.1f %.1f\n", site.bound(), ms_of(used.ru_utime) + ms_of(used.ru_stime), site.opened_ms(),
              resident_mib(), static_cast<double>(used.ru_maxrss) / 1024);
  std::fflush(stdout);
  _exit(0);
}

Started start_in_a_process(const std::string& path) {
  const auto began = std::chrono::steady_clock::now();
  const std::string command =
      "exec '" + std::filesystem::read_symlink("/proc/self/exe").string() + "' --start '" + path + "'";
  std::FILE* child = popen(command.c_str(), "r");
  std::array<char, 256> line{};
  if (child == nullptr || std::fgets(line.data(), static_cast<int>(line.size()), child) == nullptr) {
    cannot_measure("cannot run the start in a child process");
  }
  std::istringstream output(line.data());
  std::size_t bound = 0;
  Started took;
  if (!(output >> bound >> took.cpu_ms >> took.open_ms >> took.resident_mib >> took.most_mib))
    cannot_measure(line.data());
  took.wall_ms = milliseconds_since(began);
  pclose(child);
  if (bound != kStartPods - kStartWaiting) cannot_measure("rows are missing after the start");
  return took;
}

void measure_start(const std::string& folder) {
  const std::string path = folder + "/start.db";
  fill_for_start(path);
  std::vector<Started> times;
  for (int run = 0; run < 15; ++run) times.push_back(start_in_a_process(path));
  std::sort(times.begin(), times.end());
  const Started& median = times[times.size() / 2];
  std::printf(
      "start with %d nodes and %d pods, %d of them waiting, from exec: %.0f ms, %.0f ms of CPU (minimum %.0f); %.0f ms "
      "to open and read the file; %.1f MiB resident, peak %.1f\n",
      kStartNodes, kStartPods, kStartWaiting, median.wall_ms, median.cpu_ms, times[0].cpu_ms, median.open_ms,
      median.resident_mib, median.most_mib);
  std::printf("  limit: 300 ms\n");
}

void measure_idle(const std::string& folder) {
  Site site(folder + "/idle.db");
  site.start();
  site.turn();
  constexpr int kNodes = 1'000;
  for (int i = 0; i < kNodes; ++i) site.add_node(node_name(i));
  site.turn();
  site.connect();
  settle(site);
  const DiskUse before = disk_use();
  for (int second = 0; second < 3'600; second += 5) {
    for (int i = 0; i < kNodes; ++i) site.heartbeat(node_name(i), second + 2);
    site.turn();
    site.pass(5'000);
    settle(site);
  }
  const DiskUse used = disk_use() - before;
  std::printf("idle hour of %d nodes, a heartbeat every 5 s: %" PRIu64 " bytes, %" PRIu64 " syncs; limit: 0\n", kNodes,
              used.bytes, used.syncs);
}

}  // namespace
}  // namespace berth::bench

// bench_store [FOLDER [PART...]]: parts are lone, load, start and idle; default: all.
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--start") return berth::bench::start_once(argv[2]);
  constexpr std::pair<const char*, void (*)(const std::string&)> kParts[] = {{"lone", berth::bench::measure_lone},
                                                                             {"load", berth::bench::measure_load},
                                                                             {"start", berth::bench::measure_start},
                                                                             {"idle", berth::bench::measure_idle}};
  // Not under /tmp, which may be in memory.
  std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/store-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) berth::bench::cannot_measure("cannot create a folder here");
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  for (const auto& [name, measure] : kParts) {
    if (parts.empty() || std::find(parts.begin(), parts.end(), name) != parts.end()) measure(folder);
  }
  std::filesystem::remove_all(folder);
  std::printf("1 passed, 0 failed\n");
  return 0;
}
