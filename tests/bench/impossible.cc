// What a pod that cannot run costs: bytes on the flashes of gateway and devices in an hour, after the first ten
// minutes. The pod fits the resources of two nodes, whose devices refuse it, since a directory is missing. Gateway,
// agents and their SQLite stores are real, the broker and the clock are not.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/gateway/gateway.h"
#include "plugins/registry.h"
#include "storage/sqlite_store.h"
#include "tests/bench/counted_io.h"
#include "tests/unit/hand_clock.h"
#include "transports/loopback.h"

namespace berth::bench {
namespace {

constexpr int kDevices = 2;
constexpr Millis kMinuteMs = 60'000, kHourMs = 3'600'000;

class WarningLog final : public Log {
 public:
  void write(Level level, std::string_view event, std::initializer_list<Field>) override {
    if (level >= Level::warn) std::printf("  log: %s\n", std::string(event).c_str());
  }
};

[[noreturn]] void fail(const std::string& what) {
  std::printf("could not measure: %s\n0 passed, 1 failed\n", what.c_str());
  std::exit(1);
}

void require(const Status& status, const char* what) {
  if (!status.is_success()) fail(std::string(what) + ": " + status.message());
}

// A directory is missing. `says_when`: it can tell when that is over; otherwise only prepare() shows it, as with
// devices of an earlier version.
class RefusingRuntime final : public Runtime {
 public:
  explicit RefusingRuntime(bool says_when) : says_when_(says_when) {}
  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override { return std::vector<Tag>(); }
  Result<std::vector<std::string>> list_others(const std::string&, const std::string&) override {
    return std::vector<std::string>();
  }
  void prepare(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    ++asked;
    handler_->on_prepared(tag, missing());
  }
  Status check(const std::string&, const std::vector<BoundVolume>&) override {
    return says_when_ ? missing() : Status::pending("only prepare() can tell");
  }
  void undo(const Tag&) override {}
  Result<std::string> start(const Tag&, const std::string&, const std::vector<BoundVolume>&) override {
    return Status::error("nothing is started");
  }
  void go(const Tag&) override {}
  void stop(const Tag& tag, Millis) override { handler_->on_stopped(tag); }
  int asked = 0;

 private:
  static Status missing() { return Status::error("directory /srv/data does not exist: create it"); }

  bool says_when_;
  Handler* handler_ = nullptr;
};

std::unique_ptr<SqliteStore> open_store(const std::string& path, Log& log) {
  auto opened = SqliteStore::open(path, log);
  if (!opened) fail(opened.error().message);
  return std::move(*opened);
}

struct Device {
  Device(const std::string& folder, int number, bool says_when, LoopbackBroker& broker, const Clock& clock,
         Timers& timers, Log& log)
      : runtime(says_when),
        client(broker, "node-" + std::to_string(number)),
        store(open_store(folder + "/node-" + std::to_string(number) + ".db", log)) {
    AgentConfig config;
    config.fleet = "default";
    config.node = "node-" + std::to_string(number);
    config.gateway = "gateway";
    config.machine_id = "machine-" + std::to_string(number);
    config.boot_id = "boot";
    config.capacity = {
        {"cpu", *Quantity::parse("4")}, {"memory", *Quantity::parse("1Gi")}, {"pods", *Quantity::parse("20")}};
    agent = std::make_unique<Agent>(config, clock, client, *store, runtime, timers, log,
                                    static_cast<std::uint64_t>(number + 1));
    client.set_on_turn([this] { turn(); });
    require(agent->start(), "start of a device");
    client.set_will(agent->will());
    client.connect();
  }
  void turn() { require(agent->finish_turn(), "turn of a device"); }

  RefusingRuntime runtime;
  LoopbackClient client;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<Agent> agent;
};

class Fleet {
 public:
  Fleet(const std::string& folder, bool says_when) {
    std::filesystem::create_directory(folder);
    options_.profiles.push_back(default_profile());
    options_.seed = 1;
    store_ = open_store(folder + "/gateway.db", log_);
    gateway_ = std::make_unique<Gateway>(options_, registry_, clock_, client_, *store_, timers_, log_);
    client_.set_on_turn([this] { turn(); });
    require(gateway_->start(), "start");
    turn();
    client_.connect();
    for (int i = 0; i < kDevices; ++i) {
      devices_.push_back(std::make_unique<Device>(folder, i, says_when, broker_, clock_, timers_, log_));
    }
    pass(kHourMs + kMinuteMs);  // the store of the gateway is new for an hour, and says so
  }

  void apply(int number) {
    Message message;
    message.topic = Topics("default").desired(Kind::pod, "default/pod-" + std::to_string(number));
    // Each another workload: what pods of one share is refused once.
    message.payload = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-)" + std::to_string(number) +
                      R"(","namespace":"default","uid":"uid-)" + std::to_string(number) +
                      R"("},"spec":{"containers":[{"name":"c","command":["run"],"args":[")" + std::to_string(number) +
                      R"("],"resources":{"requests":{"cpu":"100m"}}}]}})";
    message.retain = true;
    operator_.send(message);
  }
  void pass(Millis ms) {
    const Millis end = clock_.now_ms + ms;
    while (timers_.next() && *timers_.next() <= end) {
      clock_.now_ms = std::max(clock_.now_ms, *timers_.next());
      timers_.run_due(clock_.now_ms);
      turn();
      for (const auto& device : devices_) device->turn();
    }
    clock_.now_ms = end;
  }
  int asked() const {
    int count = 0;
    for (const auto& device : devices_) count += device->runtime.asked;
    return count;
  }
  void connect_operator() {
    operator_.connect();
    pass(1000);
  }

 private:
  void turn() { require(gateway_->finish_turn(), "turn"); }

  GatewayOptions options_;
  Registry registry_ = in_tree_registry();
  HandClock clock_;
  WarningLog log_;
  Timers timers_;
  LoopbackBroker broker_{clock_, timers_, 1};
  LoopbackClient client_{broker_, "gateway"}, operator_{broker_, "operator"};
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<Gateway> gateway_;
  std::vector<std::unique_ptr<Device>> devices_;
};

// Bytes in the hour after the first minute.
std::uint64_t measure(const std::string& folder, int pods, bool says_when) {
  Fleet fleet(folder + "/" + std::to_string(pods) + (says_when ? "-says" : "-silent"), says_when);
  fleet.connect_operator();
  for (int i = 0; i < pods; ++i) fleet.apply(i);
  const DiskUse start = disk_use();
  fleet.pass(kMinuteMs);
  const DiskUse first = disk_use() - start;
  const int asked = fleet.asked();
  const DiskUse before = disk_use();
  fleet.pass(kHourMs);
  const DiskUse hour = disk_use() - before;
  if (asked < pods) fail("the devices were asked only " + std::to_string(asked) + " times");
  std::printf("%d pod(s) that both nodes refuse, devices %s: first minute %" PRIu64
              " bytes, asked %d times; the hour after it "
              "%" PRIu64 " bytes, %" PRIu64 " syncs, asked %d times\n",
              pods, says_when ? "that say when they may take it" : "that do not say when", first.bytes, asked,
              hour.bytes, hour.syncs, fleet.asked() - asked);
  return hour.bytes;
}

}  // namespace
}  // namespace berth::bench

// bench_impossible [FOLDER]
int main(int argc, char** argv) {
  std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/impossible-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) berth::bench::fail("cannot create a folder here");
  std::uint64_t bytes = 0;
  for (const int pods : {1, 6}) {
    bytes += berth::bench::measure(folder, pods, true);
    berth::bench::measure(folder, pods, false);
  }
  std::filesystem::remove_all(folder);
  std::printf("limit, for devices that say when: 0 bytes\n%d passed, %d failed\n", bytes == 0 ? 1 : 0,
              bytes == 0 ? 0 : 1);
  return bytes == 0 ? 0 : 1;
}
