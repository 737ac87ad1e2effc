#include "tests/crash/gateway_load.h"

#include <memory>

#include "core/check.h"
#include "core/gateway/gateway.h"
#include "firmware-host/gateway/store.h"
#include "plugins/registry.h"

namespace berth::crash {

namespace {

constexpr int kPods = 30;
constexpr int kUpdates = 40;  // per pod: so many that the start folds the journal, which reads and writes

class StillClock final : public Clock {
 public:
  Millis now() const override { return 1'000; }
  Millis wall() const override { return 1'700'000'000'000; }
};

class DownTransport final : public Transport {
 public:
  void set_handler(Handler*) override {}
  bool is_up() const override { return false; }
  void send(const Message&) override {}
  void subscribe(const std::string&, int, SubscribeOptions) override {}
};

const Registry& registry() {
  static const Registry kRegistry = in_tree_registry();
  return kRegistry;
}

// The parts of a gateway's process that use the disk.
class Program {
 public:
  // Starts like firmware-host/gateway/app.cc. False: it exits, and failure() is the reason.
  bool start() {
    opened_ = open_gateway_store(kStorePath, clock_, log_);
    return opened_.store != nullptr ? start_gateway(true) : fail(opened_.hold);
  }
  // Starts with a store that never folds, which leaves this work to the next start.
  bool start_untidy() {
    SqliteStore::Options options;
    options.fold_changes = options.fold_bytes = 1u << 30;
    auto store = SqliteStore::open(kStorePath, log_, options);
    if (!store) return fail(store.error().message);
    opened_.store = std::move(*store);
    return start_gateway(false);
  }
  Gateway& gateway() { return *gateway_; }
  const std::string& hold() const { return opened_.hold; }
  const std::string& failure() const { return failure_; }

  // Everything the gateway knows.
  std::string known() const {
    const Identity& identity = gateway_->identity();
    std::string text = identity.id.store_id + (identity.adopting ? " adopting" : "") + "\n";
    for (const KindName& kind : berth::kinds()) {
      for (const std::string& key : gateway_->objects().keys(kind.kind)) {
        text += key + " " + *gateway_->objects().text(kind.kind, key) + "\n";
      }
    }
    for (const auto& [uid, binding] : gateway_->bindings()) text += std::string(uid) + " has a row\n";
    for (const auto& [name, device] : gateway_->nodes().all()) text += name + " is a node\n";
    return text;
  }

 private:
  bool fail(const std::string& why) {
    failure_ = why.empty() ? "no reason was given" : why;
    return false;
  }
  bool start_gateway(bool may_replace) {
    GatewayOptions options;
    options.profiles.push_back(default_profile());
    options.hold = opened_.hold;
    gateway_ = std::make_unique<Gateway>(options, registry(), clock_, transport_, *opened_.store, timers_, log_);
    const Status started = gateway_->start();
    if (started.is_success()) {
      const Status finished = gateway_->finish_turn();
      return finished.is_success() || fail(finished.message());
    }
    gateway_.reset();
    if (!may_replace || !is_damaged(*opened_.store)) return fail(started.message());
    opened_ = replace_gateway_store(std::move(opened_.store), kStorePath, started.message(), clock_, log_);
    return opened_.store != nullptr ? start_gateway(false) : fail(opened_.hold);
  }

  StillClock clock_;
  Notes log_;
  Timers timers_;
  DownTransport transport_;
  OpenedStore opened_;
  std::unique_ptr<Gateway> gateway_;
  std::string failure_;
};

void receive(Gateway& gateway, const std::string& topic, const std::string& payload) {
  Message message;
  message.topic = "berth/v1/default/" + topic;
  message.payload = payload;
  message.retain = true;
  gateway.on_message(message);
}

std::string pod(int number, int update) {
  const std::string name = "p" + std::to_string(number);
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":"u-)" +
         name + R"(","labels":{"update":"x)" + std::to_string(update * kPods + number) +
         R"("}},"spec":{"containers":[{"name":"c","image":"app"}]}})";
}

// Checks a start with faults against what the gateway knew before.
std::string check_start(Program& program, bool started, const std::string& known) {
  if (!started) {
    return program.failure().find(kStorePath) == std::string::npos
               ? "the gateway exits without naming its store as the reason"
               : "";
  }
  if (program.hold().empty()) {
    return program.known() == known ? "" : "the gateway starts with different knowledge: " + program.known();
  }
  if (program.gateway().not_ready() != program.hold()) return "the gateway holds without reporting the reason";
  receive(program.gateway(), "desired/pods/default/new", pod(99, 0));
  const bool finished = program.gateway().finish_turn().is_success();
  if (!finished || !program.gateway().objects().pods().all().empty()) return "the gateway holds, but accepts pods";
  return "";
}

}  // namespace

LoadStage prepare_gateway() {
  LoadStage stage;
  Disk left;
  mount(stage.disk);
  {
    Program program;
    CHECK(program.start_untidy());
    receive(
        program.gateway(), "nodes/n1/state",
        R"({"incarnation":"i1","session":"1","sequence":"1","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"}})");
    for (int update = 0; update < kUpdates; ++update) {
      for (int number = 0; number < kPods; ++number) {
        receive(program.gateway(), "desired/pods/default/p" + std::to_string(number), pod(number, update));
      }
      CHECK(program.gateway().finish_turn().is_success());
    }
    stage.known = program.known();
    left = stage.disk.restarted();  // as after a power cut: the write-ahead log remains
  }
  stage.disk = left;
  return stage;
}

Outcome run_gateway(const LoadStage& stage, const Trial& trial) {
  Outcome outcome;
  Disk disk = stage.disk;
  mount(disk);
  {
    Program program;
    weaken_synchronous(trial.weak);
    if (trial.lies) disk.lie_about_syncs();
    disk.arm(trial.disk);
    arm_memory(trial.memory);
    const bool started = program.start();
    outcome.fired = disk.fired() || memory_fault_fired();
    arm_memory({});
    weaken_synchronous(false);
    outcome.violation = check_start(program, started, stage.known);
  }
  if (!outcome.violation.empty()) return outcome;
  Disk left = disk.restarted();
  mount(left);
  Program next;
  if (!next.start()) {
    outcome.violation = "the next start fails: " + next.failure();
  } else if (!next.hold().empty()) {
    outcome.violation = "the next start holds: " + next.hold();
  } else if (next.known() != stage.known) {
    outcome.violation = "the next start finds different contents: " + next.known();
  }
  return outcome;
}

}  // namespace berth::crash
