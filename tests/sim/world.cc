#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "tests/sim/hostile.h"

namespace berth::sim {

namespace {

// A rush: pods a name each, their mean distance in time, and how many times milder the weather is. What waits binds
// nothing: few preparations are slow, and workloads stop soon.
constexpr std::size_t kRushPods = 24;
constexpr std::uint64_t kSlowPercent = 15, kRushSlowPercent = 4;
constexpr Millis kRushStopMs = 300;
constexpr std::size_t kFewNodes = 5;
constexpr Millis kRushMs = 10;
constexpr std::uint64_t kRushSofter = 10;
constexpr Millis kRushApart = 4;
// Of what an event touched the invariants are asked at once; of everything, this many events apart.
constexpr std::uint64_t kFullCheckEvery = 1000;
constexpr Millis kQuietStartMs = 5'000;
// After the storm: by then the last delayed message has come and everything was said again...
constexpr Millis kLastWordMs = 31'000;
// ...then the broker or the gateway's link starts anew...
constexpr Millis kReconnectMs = 34'000;
// ...by then nothing is asked any more...
constexpr Millis kRestMs = 50'000;
// ...and then it is judged.
constexpr Millis kCalmMs = 60'000;
constexpr Millis kReadMs = 500;

AgentConfig make_device(std::size_t number, bool rush) {
  AgentConfig config;
  config.fleet = kFleet;
  config.node = "n" + std::to_string(number);
  config.gateway = kGateway;
  config.labels["zone"] = number % 2 == 0 ? "a" : "b";
  if (number % 8 == 3) config.taints.push_back({"edge", "true", TaintEffect::no_schedule});
  config.capacity["cpu"] = *Quantity::parse(number % 4 == 0 ? "1" : "2");
  config.capacity["memory"] = *Quantity::parse("256Mi");
  config.capacity["pods"] = *Quantity::parse("6");
  if (number % 2 == 0) config.capacity[kCamera] = *Quantity::parse("1");
  if (rush) {
    config.capacity["cpu"] = *Quantity::parse("32");
    config.capacity["memory"] = *Quantity::parse("16Gi");
    config.capacity["pods"] = *Quantity::parse("110");
  }
  if (number < 2) {
    for (const char* name : {"d0", "d1"}) {
      config.volumes.push_back({name, std::string("/simulated/") + name, "10Mi", "local"});
    }
    for (std::size_t claim = 0; claim < kMadeClaims; ++claim) {
      config.volumes.push_back({"raw" + std::to_string(claim), made_path(claim), "10Mi", "raw"});
    }
  }
  config.machine_id = "machine-" + std::to_string(number);
  config.heartbeat_ms = 5000;
  return config;
}

// Most seeds are small, so that many run; a few are large.
std::size_t draw_size(Random& random) {
  const std::uint64_t kind = random.below(1000);
  if (kind < 950) return 2 + random.below(3);
  if (kind < 990) return 5 + random.below(12);
  if (kind < 999) return 17 + random.below(48);
  return 100 + random.below(201);
}

// In one small fleet of four the gateway's link has less room than a connect has to say: what is retained must wait. By
// a dice of its own.
std::size_t draw_room(std::uint64_t seed) {
  Random random(seed ^ 0x524f4f4d);
  return random.chance(1, 4) ? 1 + random.below(8) : 0;
}

}  // namespace

World::World(const Plan& plan)
    : plan_(plan), around_(plan.seed, plan.sabotage, plan.print), provisioner_(around_), reader_(around_) {
  around_.mutant = plan.mutant;
  around_.check = [this] { check(); };
  around_.misuse = [this](const std::string& what) {
    violate("SEAM", "programs start and keep the seams' contracts", what);
  };
  const std::size_t drawn = plan.rush ? 3 + around_.random.below(3) : draw_size(around_.random);
  const std::size_t nodes = plan.devices > 0 ? plan.devices : drawn;
  if (plan.rush) {
    around_.weather.soften(kRushSofter);
    around_.crash_per_mille = around_.random.below(2);
  }
  std::vector<std::string> names;
  for (std::size_t number = 0; number < nodes; ++number) {
    devices_.push_back(std::make_unique<SimDevice>(around_, make_device(number, plan.rush)));
    names.push_back(devices_.back()->name());
    if (!around_.random.chance(1, 8)) continue;
    hostile_.push_back(devices_.back().get());
    around_.witness.set_hostile(names.back());
  }
  if (!is_busy() && (!plan.rush || plan.seed % 16 == 0)) around_.gateway_room = draw_room(plan.seed);
  gateway_ = std::make_unique<SimGateway>(around_, names);
  orders_ = std::make_unique<Orders>(around_, *gateway_, plan.seed);
  const std::size_t pods = plan.rush ? kRushPods : 4 + around_.random.below(12) + 2 * (nodes - 2);
  operators_ = std::make_unique<Operators>(around_, pods, nodes, plan.rush);
  // Listings of several pages are made of manifests that take time to read.
  // Only listings of such pods have a second page.
  const auto is_bulky = [&] { return plan.mutant == Mutant::p8_page || around_.random.chance(1, 30); };
  if (!plan.rush && nodes < kFewNodes && is_bulky()) operators_->set_bulky();
}

World::~World() = default;

void World::violate(std::string_view name, std::string_view text, const std::string& what) {
  if (violation_) return;
  // Under sabotage only the invariant that should notice is asked.
  if (plan_.sabotage != Sabotage::none && to_string(plan_.sabotage) != name) return;
  violation_ = Violation{std::string(name), std::string(text), what, around_.clock.now()};
  around_.say("WITNESS", std::string(name) + ": " + what);
}

void World::check() {
  around_.witness.judge_turn();
  if (violation_) return;
  const bool in_full = around_.trace.events() >= next_full_check_ || plan_.sabotage != Sabotage::none;
  if (in_full) next_full_check_ = around_.trace.events() + kFullCheckEvery;
  if (in_full || around_.witness.scope().everything) around_.witness.look_at_everything();
  for (const Invariant& invariant : safety()) {
    if (Breach breach = invariant.find_breach(around_.witness)) violate(invariant.name, invariant.text, *breach);
  }
  around_.witness.checked();
}

void World::check_liveness(std::uint64_t requests_at_rest) {
  const Wanted wanted{operators_->wanted(), operators_->preemptible(), is_busy(), around_.clock.now(),
                      requests_at_rest};
  for (const Liveness& invariant : liveness()) {
    if (Breach breach = invariant.find_breach(around_.witness, wanted)) {
      violate(invariant.name, invariant.text, *breach);
    }
  }
}

// Runs what is due, in order of time; the world before its machines.
bool World::run_until(Millis end) {
  for (;;) {
    std::optional<Millis> next = around_.timers.next();
    const auto sooner = [&next](std::optional<Millis> other) {
      if (other && (!next || *other < *next)) next = other;
    };
    sooner(gateway_->next_due());
    for (const auto& device : devices_) sooner(device->next_due());
    if (violation_ || !next || *next > end) break;
    around_.clock.advance_to(*next);
    around_.timers.run_due(around_.clock.now());
    gateway_->run_due();
    for (const auto& device : devices_) device->run_due();
  }
  around_.clock.advance_to(end);
  return !violation_;
}

void World::now_and_then(Millis mean, std::function<void()> deed) {
  around_.timers.at(around_.clock.now() + around_.pick(1, 2 * mean), [this, mean, deed = std::move(deed)] {
    if (!around_.weather.is_storm()) return;
    deed();
    now_and_then(mean, deed);
  });
}

void World::gateway_trouble() {
  switch (around_.random.below(9)) {
    case 8: return gateway_->corrupt();
    case 0: return gateway_->wipe();
    case 1: {
      const bool is_store = around_.random.chance(1, 2);
      const auto set_full = is_store ? &SimGateway::set_full : &SimGateway::set_memory_full;
      ++around_.counts.faults[is_store ? "store full" : "memory full"];
      (*gateway_.*set_full)(true);
      around_.timers.at(around_.clock.now() + around_.pick(500, 8000),
                        [this, set_full] { (*gateway_.*set_full)(false); });
      return;
    }
    default: return gateway_->crash("killed");
  }
}

void World::device_trouble() {
  SimDevice& device = *devices_[around_.random.below(devices_.size())];
  switch (around_.random.below(8)) {
    case 7:
      ++around_.counts.faults["device disk full"];
      around_.say(device.name(), "has a full disk");
      device.set_refusing(true);
      around_.timers.at(around_.clock.now() + around_.pick(100, 8000), [&device] { device.set_refusing(false); });
      return;
    case 6: return device.corrupt();
    case 0: return device.wipe();
    case 1:
    case 2: return device.reboot();
    default: return device.crash("killed");
  }
}

Process& World::any_process() {
  if (around_.random.chance(1, 4)) return *gateway_;
  return *devices_[around_.random.below(devices_.size())];
}

// A wall clock jumps; a boot clock runs fast or slow, or stands still for a while.
void World::clock_trouble() {
  Process& process = any_process();
  if (around_.random.chance(1, 3)) {
    ++around_.counts.faults["clock jump"];
    return process.clock().jump_wall(around_.pick(-1'000'000'000, 1'000'000'000));
  }
  const bool freeze = around_.random.chance(1, 3);
  ++around_.counts.faults[freeze ? "clock freeze" : "clock drift"];
  process.clock().set_rate(freeze ? 0 : around_.pick(700, 1400));
  around_.timers.at(around_.clock.now() + around_.pick(200, freeze ? 8'000 : 30'000),
                    [&process] { process.clock().set_rate(1000); });
}

void World::network_trouble() {
  Process* process = &any_process();
  switch (around_.random.below(10)) {
    case 8:
      ++around_.counts.faults["broker truncates"];
      return around_.broker.truncate_queues(around_.random.below(10));
    case 9:
      ++around_.counts.faults["broker forgets"];
      // With its process; sessions outlive it.
      around_.say("broker", "forgets its retained set");
      around_.broker.wipe_retained();
      return gateway_->lose_link(around_.pick(10, 3000));
    case 0:
      ++around_.counts.faults["broker restart"];
      around_.say("broker", "restarts; its retained set is lost");
      return around_.broker.restart(around_.pick(10, 5000));
    case 1:
    case 2:
      around_.say("network", "loses what " + process->name() + " sends");
      around_.weather.block_from(process->name());
      break;
    case 3:
    case 4:
      around_.say("network", "loses what " + process->name() + " should hear");
      around_.weather.block_to(process->name());
      break;
    default: return process->lose_link(around_.pick(10, around_.random.chance(1, 4) ? 25'000 : 3000));
  }
  const std::string name = process->name();
  around_.timers.at(around_.clock.now() + around_.pick(200, 15'000), [this, name] { around_.weather.unblock(name); });
}

// A node says what another one said, on its own topic: the broker lets it.
void World::replay_as_another() {
  if (around_.answers.empty()) return;
  ++around_.counts.faults["impostor"];
  SimDevice& device = *devices_[around_.random.below(devices_.size())];
  Message message;
  message.topic = Topics(kFleet).answers(kGateway, device.name());
  message.payload = around_.answers[around_.random.below(around_.answers.size())];
  device.forge(message);
}

void World::tell_lies() {
  SimDevice& device = *hostile_[around_.random.below(hostile_.size())];
  ++around_.counts.faults["lie"];
  device.forge(lie(around_, device.name()));
}

void World::plan_storm() {
  around_.weather.set_storm(true);
  const std::uint64_t slow_percent = plan_.rush ? kRushSlowPercent : kSlowPercent;
  for (const auto& device : devices_) {
    device->runtime().set_habits({.prepare_fails_percent = around_.random.below(15),
                                  .start_fails_percent = around_.random.below(8),
                                  .slow_percent = around_.random.below(slow_percent),
                                  .longest_stop_ms = plan_.rush ? kRushStopMs : kLongestStopMs,
                                  .stop_is_a_lie = plan_.sabotage == Sabotage::s4,
                                  .undo_is_a_lie = plan_.sabotage == Sabotage::held});
  }
  // A large fleet has more of everything.
  const auto crowd = static_cast<Millis>(1 + devices_.size() / 6);
  now_and_then(plan_.rush ? kRushMs : around_.pick(100, 2000) / crowd + 1, [this] { operators_->act(); });
  now_and_then(20'000, [this] { say_everything(); });
  // What stops all binding for a while is rarer where binds are wanted.
  const Millis apart = plan_.rush ? kRushApart : 1;
  now_and_then(apart * around_.pick(6000, 60'000), [this] { gateway_trouble(); });
  now_and_then(apart * around_.pick(3000, 40'000) / crowd, [this] { device_trouble(); });
  now_and_then(apart * around_.pick(3000, 40'000) / crowd, [this] { network_trouble(); });
  now_and_then(around_.pick(5000, 60'000) / crowd, [this] { clock_trouble(); });
  now_and_then(around_.pick(300, 3000), [this] { replay_as_another(); });
  if (!hostile_.empty()) now_and_then(around_.pick(100, 2000) / crowd + 1, [this] { tell_lies(); });
}

// Every pod that the gateway or the broker still knows.
std::set<std::pair<std::string, std::string>> World::pods_seen() const {
  std::set<std::pair<std::string, std::string>> seen;
  const std::string prefix = Topics(kFleet).root() + "desired/pods/";
  for (const auto& [topic, payload] : around_.broker.retained()) {
    if (!topic.starts_with(prefix)) continue;
    const Result<Json> json = Json::parse(payload);
    const Json* metadata = json ? json->find("metadata") : nullptr;
    const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
    if (uid != nullptr && uid->is_string()) seen.emplace(topic.substr(prefix.size()), uid->as_string());
  }
  if (gateway_->gateway() == nullptr) return seen;
  const Objects& objects = gateway_->gateway()->objects();
  for (const auto& [key, entry] : objects.pods()) seen.emplace(key, entry.pod->uid());
  for (const auto& [key, uid] : objects.names_awaited()) seen.emplace(key, uid);
  return seen;
}

void World::say_everything() {
  operators_->repeat_all(pods_seen(), orphans_seen());
  provisioner_.repeat_all();
}

std::set<std::string> World::orphans_seen() const {
  std::set<std::string> uids;
  for (const std::string& orphan : around_.witness.gateway().orphans) {
    const std::size_t from = orphan.find('/') + 1;
    uids.insert(orphan.substr(from, orphan.find('/', from) - from));
  }
  return uids;
}

void World::calm_down() {
  around_.say("world", "the storm is over");
  around_.weather.set_storm(false);
  const bool broken = plan_.sabotage == Sabotage::l5;
  for (const auto& device : devices_) {
    device->runtime().set_habits({.prepare_fails_percent = broken ? 100u : 0u,
                                  .stop_is_a_lie = plan_.sabotage == Sabotage::s4,
                                  .undo_is_a_lie = plan_.sabotage == Sabotage::held});
    device->set_refusing(false);
    device->boot();
  }
  for (const auto& device : devices_) device->clock().set_rate(1000);
  gateway_->clock().set_rate(1000);
  // Nobody believes them any more: they are set up anew.
  for (SimDevice* device : hostile_) device->wipe();
  gateway_->set_full(false);
  gateway_->set_memory_full(false);
  gateway_->boot();
  operators_->settle();
}

// The daily case: a broker without a store starts anew, and has nothing but what it is told again. Or it has kept what
// the gateway could not tell it to drop.
void World::reconnect() {
  if (around_.random.chance(1, 2)) {
    around_.say("broker", "restarts; its retained set is lost");
    return around_.broker.restart(100);
  }
  gateway_->lose_link(100);
}

// A large fleet is never quite at rest.
void World::check_mirror() {
  if (is_busy() || gateway_->gateway() == nullptr) return;
  reader_.ask_for_all();
  run_until(around_.clock.now() + kReadMs);
  if (violation_ || gateway_->gateway() == nullptr) return;
  if (Breach breach = find_unlike(*gateway_->gateway(), around_.broker.retained(), reader_)) {
    violate("M", "the broker retains what the gateway holds, and nothing else of its", *breach);
  }
}

// The last act: what it does to the fleet nobody else is to see. A rush has no time for it.
void World::check_orders() {
  if (is_busy() || plan_.rush || gateway_->gateway() == nullptr) return;
  orders_->connect();
  run_until(around_.clock.now() + kReadMs);
  const auto run = [this](Millis ms) { return run_until(around_.clock.now() + ms); };
  if (Breach breach = orders_->find_undone(run)) {
    violate("ORDER", "the last order stands, whatever the broker retains", *breach);
  }
}

bool World::run() {
  operators_->connect();
  provisioner_.connect();
  reader_.connect();
  gateway_->boot();
  for (const auto& device : devices_) {
    around_.timers.at(around_.pick(0, kQuietStartMs), [&device] { device->boot(); });
  }
  bool well = run_until(kQuietStartMs);
  plan_storm();
  const Millis end = kQuietStartMs + plan_.storm_ms;
  well = well && run_until(end);
  if (well) calm_down();
  for (const Millis word : {Millis{1000}, kLastWordMs / 2, kLastWordMs}) {
    well = well && run_until(end + word);
    // Until the last word the storm's delays are still on the way.
    around_.witness.count_attempts_anew();
    if (well) say_everything();
    if (well && plan_.sabotage == Sabotage::l1 && gateway_->gateway() != nullptr) gateway_->sabotage_queue();
  }
  well = well && run_until(end + kReconnectMs);
  if (well) reconnect();
  well = well && run_until(end + kRestMs);
  const std::uint64_t before = around_.witness.stubborn_requests();
  well = well && run_until(end + kCalmMs);
  next_full_check_ = 0;
  check();
  well = !violation_;
  if (well) check_liveness(around_.witness.stubborn_requests() - before);
  if (!violation_) check_mirror();
  if (!violation_) check_orders();
  around_.counts.events = around_.trace.events();
  around_.counts.binds = around_.witness.binds();
  for (const auto& device : devices_) around_.counts.starts += device->runtime().started();
  around_.counts.virtual_ms = around_.clock.now();
  return !violation_;
}

}  // namespace berth::sim
