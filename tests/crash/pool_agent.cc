#include "tests/crash/pool_agent.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/agent/agent.h"
#include "core/check.h"
#include "firmware-host/agent/volume_limits.h"

namespace berth::crash {

namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;
using Records = std::map<std::string, MadeVolume>;

constexpr char kClass[] = "pooled";
constexpr char kForeign[] = "foreign";  // made by nobody here
constexpr std::int64_t kVolumeBytes = 1 << 20;
constexpr int kDeep = 36;            // levels: more than PoolFiles descends at once
constexpr Millis kRetryMs = 10'000;  // N11: a removal that failed goes on after so long
constexpr Millis kStepMs = 10;       // and one that did not

class SteppedClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return 0; }
  Millis now_ms = 1'000;
};

void put_file(const fs::path& path) { std::ofstream(path) << "data of " << path.filename().string(); }

// What a pod leaves: files, links out of the pool, and directories, each in the one before.
void use(const PoolDisk& pool, const fs::path& volume, int levels) {
  if (!fs::is_directory(volume) || !fs::is_empty(volume)) return;
  put_file(volume / "file");
  fs::path inner = volume;
  for (int level = 0; level < levels; ++level) inner /= "d";
  fs::create_directories(inner);
  put_file(inner / "file");
  fs::create_directory_symlink(pool.outside(), volume / "d" / "directory-link");
  fs::create_symlink(pool.outside() + "/inner/file", volume / "file-link");
  fs::create_directory_symlink(pool.root() + "/" + kForeign, volume / "d" / "neighbour-link");
  fs::create_directory_symlink("..", volume / "d" / "up-link");
}

// Names and contents of a tree, as text; links are not followed.
std::string show_tree(const fs::path& root) {
  if (!fs::is_directory(root)) return "it is gone";
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    text += entry.path().string() + "\n";
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {}).append("\n");
  }
  return text;
}

// Pods that are prepared, started and stopped at once.
class QuickRuntime final : public Runtime {
 public:
  explicit QuickRuntime(const PoolDisk& pool) : pool_(pool) {}
  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override { return std::vector<Tag>(tags_.begin(), tags_.end()); }
  Result<std::vector<std::string>> list_others(const std::string&, const std::string&) override {
    return std::vector<std::string>();
  }
  void prepare(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    tags_.insert(tag);
    handler_->on_prepared(tag, Status::ok());
  }
  Status check(const std::string&, const std::vector<BoundVolume>&) override { return Status::ok(); }
  void undo(const Tag& tag) override { tags_.erase(tag); }
  Result<std::string> start(const Tag& tag, const std::string&, const std::vector<BoundVolume>& volumes) override {
    tags_.insert(tag);
    for (const BoundVolume& each : volumes) {
      if (!fs::is_directory(each.path)) violation = "a pod starts without the directory of " + each.volume;
      use(pool_, each.path, 1);
    }
    return "1:" + tag.uid;
  }
  void go(const Tag&) override {}
  void stop(const Tag& tag, Millis) override {
    tags_.erase(tag);
    handler_->on_stopped(tag);
  }
  void lose_power() { tags_.clear(); }

  std::string violation;  // empty: there was none

 private:
  const PoolDisk& pool_;
  Handler* handler_ = nullptr;
  std::set<Tag> tags_;
};

// A volume, and all that the gateway knows of it.
struct Asked {
  std::string pod;
  Epoch epoch;  // of the pod's row
  bool pre_bound = false;
  bool bound = false;
  bool has_object = false;  // the row came to phase bind
  bool is_to_go = false;    // DeleteVolume was sent
  bool is_deleted = false;  // and answered
};

// The gateway of one device, which does not fail.
class Requester {
 public:
  explicit Requester(const PoolDisk& pool) : root_(pool.root()) {}

  Request request(RequestType type, const std::string& incarnation) const {
    Request request(type);
    request.gateway = "gw";
    request.gateway_id = {1, "store"};
    request.incarnation = incarnation;
    return request;
  }
  std::string path(const std::string& volume) const { return root_ + "/" + volume; }
  void hear(const berth::Answer& answer) {
    if (answer.type == AnswerType::slots) {
      told.insert(answer.unused_volumes.begin(), answer.unused_volumes.end());
      for (const KeptVolume& each : answer.kept_volumes) told.insert(each.volume);
    }
    if (answer.type == AnswerType::volume_deleted) volumes[answer.volume].is_deleted = true;
    for (auto& [name, volume] : volumes) {
      if (volume.epoch != answer.epoch) continue;
      volume.pre_bound = volume.pre_bound || answer.type == AnswerType::pre_bound;
      volume.bound = volume.bound || answer.type == AnswerType::bound;
    }
  }

  std::map<std::string, Asked> volumes = {
      {"old", {"pod-old", {1, 1}}}, {"new", {"pod-new", {1, 5}}}, {"spare", {"pod-spare", {1, 6}}}};
  Names told;  // by the last listing

 private:
  const std::string root_;
};

class Line final : public Transport {
 public:
  explicit Line(Requester& gateway) : gateway_(gateway) {}
  void set_handler(Handler*) override {}
  bool is_up() const override { return !mounted().is_cut(); }
  void send(const Message& message) override {
    if (message.topic != "berth/v1/f/gateways/gw/answers/n1") return;
    for (const Result<berth::Answer>& answer : decode_answers(message.payload, "n1")) {
      if (answer) gateway_.hear(*answer);
    }
  }
  void subscribe(const std::string&, int, SubscribeOptions) override {}

 private:
  Requester& gateway_;
};

// One run of the agent's program, and what its gateway asks of it.
class Device {
 public:
  Device(PoolDisk& pool, QuickRuntime& runtime, Requester& gateway) : gateway_(gateway), line_(gateway) {
    config_.fleet = "f";
    config_.node = "n1";
    config_.gateway = "gw";
    config_.machine_id = "machine";
    config_.capacity = {
        {"cpu", *Quantity::parse("1")}, {"memory", *Quantity::parse("1Gi")}, {"pods", *Quantity::parse("9")}};
    config_.volume_pools = {{kClass, pool.root(), *Quantity::parse("1Gi")}};
    CHECK(pool.open(config_.volume_pools).is_success());
    config_.pool_directories = &pool;
    runtime_ = &runtime;
  }
  // False: it exits, or power is cut.
  bool start(const std::string& boot_id) {
    config_.boot_id = boot_id;
    auto opened = SqliteStore::open(kStorePath, log_);
    if (!opened) return false;
    store_ = std::move(*opened);
    agent_ = std::make_unique<Agent>(config_, clock_, line_, *store_, *runtime_, timers_, log_, 1);
    is_alive_ = agent_->start().is_success();
    if (is_alive_) agent_->on_link(true);
    return finish();
  }
  // Long enough for the steps of all removals, also of one that failed.
  void carry_on() {
    for (const Millis span : {kStepMs, kStepMs, kRetryMs, kStepMs, kStepMs}) {
      if (!is_alive_) return;
      clock_.now_ms += span;
      timers_.run_due(clock_.now_ms);
      finish();
    }
  }
  void pre_bind(const std::string& volume) {
    const Asked& asked = gateway_.volumes.at(volume);
    Request request = row_request(RequestType::pre_bind, volume);
    request.pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + request.uid +
                  R"(","namespace":"default","uid":")" + request.uid +
                  R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})";
    request.volumes = {{"default/" + volume, volume, gateway_.path(volume)}};
    if (!asked.has_object)
      request.volumes = {{"default/" + volume, volume, gateway_.path(volume), VolumeToMake{kClass, kVolumeBytes}}};
    request.promise_ms = 30'000;
    deliver(request);
  }
  void bind(const std::string& volume) {
    if (!gateway_.volumes.at(volume).pre_bound) return;
    gateway_.volumes.at(volume).has_object = true;
    deliver(row_request(RequestType::bind, volume));
  }
  void release(const std::string& volume) { deliver(row_request(RequestType::release, volume)); }
  void remove(const std::string& volume, std::uint64_t counter) {
    Asked& asked = gateway_.volumes.at(volume);
    Request request = gateway_.request(RequestType::delete_volume, incarnation());
    request.volume = volume;
    request.epoch = {1, counter};
    if (asked.has_object) request.path = gateway_.path(volume);
    if (is_alive_) asked.is_to_go = true;
    deliver(request);
  }
  void list() {
    gateway_.told.clear();
    Request request = gateway_.request(RequestType::list, "");
    request.epoch = {1, 1};
    request.list_id = ++listings_;
    deliver(request);
  }
  const std::map<std::string, Slot>& slots() const { return agent_->state().slots; }

 private:
  std::string incarnation() const { return agent_ != nullptr ? agent_->state().incarnation : std::string(); }
  Request row_request(RequestType type, const std::string& volume) const {
    Request request = gateway_.request(type, incarnation());
    request.uid = gateway_.volumes.at(volume).pod;
    request.epoch = gateway_.volumes.at(volume).epoch;
    return request;
  }
  void deliver(const Request& request) {
    if (!is_alive_) return;
    Message message;
    message.topic = "berth/v1/f/nodes/n1/requests";
    message.payload = encode(request);
    agent_->on_message(message);
    finish();
  }
  bool finish() {
    is_alive_ = is_alive_ && agent_->finish_turn().is_success() && !mounted().is_cut();
    return is_alive_;
  }

  Requester& gateway_;
  Line line_;
  SteppedClock clock_;
  Timers timers_;
  Notes log_;
  AgentConfig config_;
  QuickRuntime* runtime_ = nullptr;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<Agent> agent_;
  std::uint64_t listings_ = 0;
  bool is_alive_ = false;
};

void use_old(Device& device) {
  device.pre_bind("old");
  device.bind("old");
  device.release("old");
}

// What may be interrupted anywhere.
void act(Device& device) {
  if (!device.start("boot-1")) return;
  device.pre_bind("new");
  device.bind("new");
  device.pre_bind("spare");
  device.release("spare");
  device.remove("old", 9);
  device.remove("spare", 9);
  device.carry_on();
}

Names directories_in(const PoolDisk& pool) {
  Names names;
  for (const auto& entry : fs::directory_iterator(pool.root())) names.insert(entry.path().filename().string());
  names.erase(kForeign);
  return names;
}

std::optional<AgentRecords> read_store() {
  Notes log;
  auto store = SqliteStore::open(kStorePath, log);
  if (!store) return std::nullopt;
  const Result<std::vector<Record>> records = (*store)->load();
  if (!records) return std::nullopt;
  const Result<AgentRecords> read = decode_records(*records);
  return read ? std::optional(*read) : std::nullopt;
}

// Of act() without a fault.
std::string check_unhurt(const Requester& gateway) {
  const auto& volumes = gateway.volumes;
  const bool is_done = volumes.at("new").bound && volumes.at("spare").pre_bound && volumes.at("spare").is_deleted &&
                       volumes.at("old").is_deleted;
  return is_done ? "" : "without a fault not all that was asked for is done";
}

// Before the next start.
std::string check_left(const AgentRecords& read, const PoolDisk& pool, const Requester& gateway) {
  const Names directories = directories_in(pool);
  if (!pool.quotas().needless_limits().empty()) return "a limit is left of a directory that is gone";
  for (const std::string& name : directories) {
    if (!read.volumes.contains(name)) return "the directory " + name + " has no record";
  }
  for (const auto& [name, volume] : read.volumes) {
    if (volume.state == MadeVolume::State::kept && !directories.contains(name)) return name + " is kept, but not there";
  }
  for (const auto& [uid, slot] : read.state.slots) {
    if (slot.state == SlotState::preparing) continue;
    for (const BoundVolume& each : slot.volumes) {
      if (!directories.contains(each.volume)) return "slot " + uid + " is prepared without " + each.volume;
    }
  }
  for (const auto& [name, asked] : gateway.volumes) {
    const bool is_there = directories.contains(name) || read.volumes.contains(name);
    if (asked.is_deleted && is_there) return name + " is said to be deleted, but there";
    if (asked.has_object && !asked.is_to_go && !directories.contains(name)) return name + " has an object, but is gone";
  }
  return {};
}

// After it: each directory is a slot's, or told, or was removed.
std::string check_told(const Device& device, const Names& directories, const Requester& gateway) {
  if (!gateway.told.contains(kForeign)) return "a directory without a record is not told";
  Names held;
  for (const auto& [uid, slot] : device.slots()) {
    for (const BoundVolume& each : slot.volumes) held.insert(each.volume);
  }
  for (const std::string& name : directories) {
    if (!held.contains(name) && !gateway.told.contains(name)) return name + " lies there, and nobody is told";
  }
  for (const std::string& name : held) {
    if (!directories.contains(name)) return "a slot has " + name + ", which is not there";
  }
  return {};
}

// After it: pods run with limited volumes only.
std::string check_limits(const PoolDisk& pool, const std::map<std::string, Slot>& slots) {
  for (const auto& [uid, slot] : slots) {
    for (const BoundVolume& each : slot.volumes) {
      if (fs::is_directory(each.path) && pool.quotas().limit_of(each.path) != kVolumeBytes) {
        return each.volume + " is not limited";
      }
    }
  }
  return {};
}

std::string show(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text.empty() ? " none" : text;
}

// What the gateway had begun is given up or carried through: then only what it has an object for is there.
std::string settle(Device& device, const PoolDisk& pool, Requester& gateway) {
  for (const std::string volume : {"new", "spare"}) {
    if (!gateway.volumes.at(volume).has_object) device.release(volume);
  }
  Asked& wanted = gateway.volumes.at("new");
  if (wanted.has_object) device.bind("new");
  if (wanted.has_object && !wanted.bound) {
    // A reboot has ended the promise (N5): the pod is placed again.
    wanted.epoch = {1, 7};
    device.pre_bind("new");
    device.bind("new");
  }
  device.list();
  const Names told = gateway.told;
  for (auto& [name, asked] : gateway.volumes) {
    const bool is_wanted = asked.has_object && name != "old";
    if (is_wanted || asked.is_deleted || (!asked.is_to_go && !told.contains(name))) continue;
    device.remove(name, 20);
    device.carry_on();
    if (directories_in(pool).contains(name)) return name + " cannot be deleted";
  }
  const Names left = directories_in(pool);
  const Names expected = wanted.has_object ? Names{"new"} : Names{};
  if (left != expected) return "at the end these directories are there:" + show(left);
  if (wanted.has_object && !wanted.bound) return "the pod of new is not bound";
  device.list();
  return gateway.told == Names{kForeign} ? "" : "at the end these are told:" + show(gateway.told);
}

void prepare_folder(PoolDisk& pool, const PoolDefects& defects) {
  pool.reset(defects);
  fs::create_directory(pool.outside() + "/inner");
  put_file(pool.outside() + "/file");
  put_file(pool.outside() + "/inner/file");
  fs::create_directory(pool.root() + "/" + kForeign);
  put_file(pool.root() + "/" + kForeign + "/file");
}

std::string show_others(const PoolDisk& pool) {
  return show_tree(pool.outside()) + show_tree(pool.root() + "/" + kForeign);
}

std::string check_next_start(PoolDisk& pool, QuickRuntime& runtime, Requester& gateway, const std::string& boot_id) {
  const std::optional<AgentRecords> read = read_store();
  if (!read) return "the store cannot be read";
  std::string violation = check_left(*read, pool, gateway);
  if (!violation.empty()) return violation;
  Device next(pool, runtime, gateway);
  if (!next.start(boot_id)) return "the next start fails";
  next.carry_on();
  next.list();
  violation = check_limits(pool, next.slots());
  if (!violation.empty()) return violation;
  violation = check_told(next, directories_in(pool), gateway);
  return violation.empty() ? settle(next, pool, gateway) : violation;
}

}  // namespace

PoolStage prepare_pool(PoolDisk& pool) {
  PoolStage stage;
  prepare_folder(pool, {});
  mount(stage.disk);
  QuickRuntime runtime(pool);
  Requester gateway(pool);
  Device device(pool, runtime, gateway);
  CHECK(device.start("boot-1"));
  use_old(device);
  CHECK(gateway.volumes.at("old").bound && device.slots().empty());
  return stage;
}

Outcome run_pool(PoolDisk& pool, const PoolStage& stage, const Trial& trial) {
  Outcome outcome;
  prepare_folder(pool, trial.pool);
  fs::create_directory(pool.root() + "/old");
  use(pool, pool.root() + "/old", kDeep);
  pool.quotas().put(pool.root() + "/old", kFirstProject, kVolumeBytes);
  const std::string others = show_others(pool);
  QuickRuntime runtime(pool);
  Requester gateway(pool);
  Asked& old = gateway.volumes.at("old");
  old.pre_bound = old.bound = old.has_object = true;
  Disk disk = stage.disk;
  mount(disk);
  {
    Device device(pool, runtime, gateway);
    weaken_synchronous(trial.weak);
    if (trial.lies) disk.lie_about_syncs();
    disk.arm(trial.disk);
    arm_memory(trial.memory);
    act(device);
    outcome.fired = disk.fired() || memory_fault_fired();
    if (!outcome.fired) outcome.violation = check_unhurt(gateway);
    arm_memory({});
    weaken_synchronous(false);
    if (disk.is_cut()) pool.lose_power(trial.disk);
  }
  // With all changes kept, only the program has died.
  const bool is_reboot = disk.is_cut() && trial.disk.fate != Fate::kept;
  if (is_reboot) runtime.lose_power();
  Disk left = disk.restarted();
  mount(left);
  if (outcome.violation.empty()) {
    outcome.violation = check_next_start(pool, runtime, gateway, is_reboot ? "boot-2" : "boot-1");
  }
  if (outcome.violation.empty()) outcome.violation = runtime.violation;
  if (outcome.violation.empty() && show_others(pool) != others) {
    outcome.violation = "something outside the volumes was changed";
  }
  mount(disk);
  return outcome;
}

}  // namespace berth::crash
