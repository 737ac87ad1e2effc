#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "core/api/features.h"
#include "tests/sim/hostile.h"
#include "tests/sim/pools.h"
#include "tests/sim/storm.h"

namespace berth::sim {

namespace {

// A rush: the number of pod names, the mean interval between pods, and the factor by which faults are rarer. Few
// preparations are slow and workloads stop soon, since waiting reduces the number of binds.
constexpr std::size_t kRushPods = 24;
constexpr std::uint64_t kSlowPercent = 15, kRushSlowPercent = 4;
constexpr Millis kRushStopMs = 300;
constexpr std::size_t kFewNodes = 5;
constexpr std::size_t kMaxRetainedBefore = 4;
constexpr Millis kRushMs = 10;
constexpr std::uint64_t kRushSofter = 10;
constexpr Millis kRushApart = 4;
// Invariants are checked after each event for what it changed, and completely after this many events.
constexpr std::uint64_t kFullCheckEvery = 1000;
constexpr Millis kQuietStartMs = 5'000;
// After the fault phase: all devices are connected...
constexpr Millis kConnectedMs = 10'000;
// ...by then the last delayed message has arrived and everything was published again...
constexpr Millis kLastRepublishMs = 31'000;
// ...then the broker restarts or the gateway reconnects...
constexpr Millis kReconnectMs = 34'000;
// ...a gateway that has begun with another store since the last publishing hears everything once more, and lying
// devices leave statuses behind...
constexpr Millis kJunkMs = 38'000;
// ...by then no requests are pending...
constexpr Millis kRestMs = 50'000;
// ...and then liveness is checked.
constexpr Millis kQuietMs = 60'000;
constexpr Millis kReadMs = 500;
// Fleets in which devices fetch images, and end pods by themselves.
constexpr std::uint64_t kPullsOneIn = 4;
constexpr std::uint64_t kEvictsOneIn = 8;

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
    config.volumes.push_back({"i0", "/simulated/i0", "10Mi", kImmediateClass});
    for (std::size_t claim = 0; claim < kMadeClaims; ++claim) {
      config.volumes.push_back({"raw" + std::to_string(claim), made_path(claim), "10Mi", "raw"});
    }
  }
  if (number < 3) config.volume_pools.push_back({kPooledClass, pool_root(config.node), *Quantity::parse("2Mi")});
  // A quarter cannot do what some pods ask for, and a quarter does not say.
  if (number % 4 != 3) config.features = {"limits", "volumes/ephemeral", "volumes/persistentVolumeClaim"};
  if (number % 2 == 0) config.features->insert(config.features->begin() + 1, "probes");
  // A quarter tells what processes can have from what containers can, for which pods, all processes, are not to ask it.
  if (number % 4 == 2) {
    for (std::string& name : *config.features) name = of_processes(name);
    config.features->insert(config.features->begin(), {"images", "limits"});
  }
  config.machine_id = "machine-" + std::to_string(number);
  config.heartbeat_ms = 5000;
  return config;
}

// Most fleets are small, so that many seeds can run; a few are large.
std::size_t draw_size(Random& random) {
  const std::uint64_t kind = random.below(1000);
  if (kind < 950) return 2 + random.below(3);
  if (kind < 990) return 5 + random.below(12);
  if (kind < 999) return 17 + random.below(48);
  return 100 + random.below(201);
}

// In one of four small fleets the gateway's send window is smaller than what it publishes on connecting: retained
// messages must wait. Drawn from a separate random stream.
std::size_t draw_send_window(std::uint64_t seed) {
  Random random(seed ^ 0x524f4f4d);
  return random.chance(1, 4) ? 1 + random.below(8) : 0;
}

// What the gateway is configured with, from a random stream of its own.
SameName draw_same_name(std::uint64_t seed, Mutant mutant) {
  Random random(seed ^ 0x4e414d45);
  if (mutant == Mutant::p14_name || random.chance(1, 2)) return SameName::older;
  return random.chance(1, 2) ? SameName::newer : SameName::ask;
}

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      env_(plan.seed, plan.sabotage, plan.print),
      provisioner_(env_),
      reader_(env_),
      going_back_(plan.seed ^ 0x4241434b),
      twins_(env_) {
  env_.mutant = plan.mutant;
  env_.messages = plan.messages;
  env_.check = [this] { check(); };
  env_.misuse = [this](const std::string& what) {
    violate("SEAM", "programs start and keep the contracts of their interfaces", what);
  };
  const std::size_t drawn = plan.rush ? 3 + env_.random.below(3) : draw_size(env_.random);
  const std::size_t nodes = plan.devices > 0 ? plan.devices : drawn;
  if (plan.rush) {
    env_.network.soften(kRushSofter);
    env_.crash_per_mille = env_.random.below(2);
  }
  std::vector<std::string> names;
  for (std::size_t number = 0; number < nodes; ++number) {
    devices_.push_back(std::make_unique<SimDevice>(env_, make_device(number, plan.rush)));
    names.push_back(devices_.back()->name());
    if (!env_.random.chance(1, 8)) continue;
    hostile_.push_back(devices_.back().get());
    env_.witness.set_hostile(names.back());
  }
  if (!is_busy() && (!plan.rush || plan.seed % 16 == 0)) env_.gateway_send_window = draw_send_window(plan.seed);
  env_.witness.names().set_same_name(draw_same_name(plan.seed, plan.mutant));
  if (!plan.rush && !is_busy()) {
    twins_.draw(plan.seed, devices_, [](std::size_t number) { return make_device(number, false); });
  }
  gateway_ = std::make_unique<SimGateway>(env_, names);
  orders_ = std::make_unique<Orders>(env_, *gateway_, plan.seed);
  const std::size_t pods = plan.rush ? kRushPods : 4 + env_.random.below(12) + 2 * (nodes - 2);
  operators_ = std::make_unique<Operators>(env_, pods, nodes, plan.rush, plan.seed);
  lost_machines_ = std::make_unique<LostMachines>(env_, *gateway_, *operators_, devices_, plan.seed);
  second_gateways_ = std::make_unique<SecondGateways>(env_, *gateway_, plan.seed);
  copied_gateways_ = std::make_unique<CopiedGateways>(env_, *gateway_, plan.seed);
  put_back_cards_ = std::make_unique<PutBackCards>(env_, *gateway_, plan.seed);
  // Only listings of bulky pods have several pages; they are rare, since their manifests are slow to read.
  const auto is_bulky = [&] { return plan.mutant == Mutant::p8_page || env_.random.chance(1, 30); };
  if (!plan.rush && nodes < kFewNodes && is_bulky()) operators_->set_bulky();
  if (plan.configs) operators_->set_configs(plan.seed);
  if (plan.workloads || plan.sabotage == Sabotage::rollout)
    deployer_ = std::make_unique<WorkloadOperator>(env_, plan.seed);
}

World::~World() = default;

void World::violate(std::string_view name, std::string_view text, const std::string& what) {
  if (violation_) return;
  // With sabotage only the invariant that should fire counts.
  if (plan_.sabotage != Sabotage::none && to_string(plan_.sabotage) != name) return;
  violation_ = Violation{std::string(name), std::string(text), what, env_.clock.now()};
  env_.note("WITNESS", std::string(name) + ": " + what);
}

void World::check() {
  env_.witness.check_turn();
  if (violation_) return;
  const bool in_full = env_.trace.events() >= next_full_check_ || plan_.sabotage != Sabotage::none;
  if (in_full) next_full_check_ = env_.trace.events() + kFullCheckEvery;
  if (in_full || env_.witness.scope().everything) env_.witness.check_everything();
  for (const Invariant& invariant : safety()) {
    if (Breach breach = invariant.find_breach(env_.witness)) violate(invariant.name, invariant.text, *breach);
  }
  env_.witness.checked();
}

void World::check_liveness(std::uint64_t requests_at_rest) {
  const Expected expected{operators_->expected(), operators_->preemptible(), is_busy(), env_.clock.now(),
                          requests_at_rest};
  for (const Liveness& invariant : liveness()) {
    if (Breach breach = invariant.find_breach(env_.witness, expected)) {
      violate(invariant.name, invariant.text, *breach);
    }
  }
}

// Runs what is due in order of time; the shared timers before those of the machines.
bool World::run_until(Millis end) {
  for (;;) {
    std::optional<Millis> next = env_.timers.next();
    const auto sooner = [&next](std::optional<Millis> other) {
      if (other && (!next || *other < *next)) next = other;
    };
    sooner(gateway_->next_due());
    for (const auto& device : devices_) sooner(device->next_due());
    sooner(twins_.next_due());
    sooner(second_gateways_->next_due());
    sooner(copied_gateways_->next_due());
    if (violation_ || !next || *next > end) break;
    env_.clock.advance_to(*next);
    env_.timers.run_due(env_.clock.now());
    gateway_->run_due();
    for (const auto& device : devices_) device->run_due();
    twins_.run_due();
    second_gateways_->run_due();
    copied_gateways_->run_due();
  }
  env_.clock.advance_to(end);
  return !violation_;
}

void World::gateway_trouble() {
  if (env_.mutant == Mutant::p11 && env_.random.chance(1, 2)) return gateway_->roll_back();
  const std::uint64_t kind = env_.random.below(10);
  env_.gateway_store_lost = env_.gateway_store_lost || kind == 9 || kind == 8 || kind == 0;
  switch (kind) {
    case 9: return gateway_->roll_back();
    case 8: return gateway_->corrupt();
    case 0: return gateway_->wipe();
    case 1: {
      const bool is_store = env_.random.chance(1, 2);
      const auto set_full = is_store ? &SimGateway::set_full : &SimGateway::set_memory_full;
      ++env_.counts.faults[is_store ? "store full" : "memory full"];
      (*gateway_.*set_full)(true);
      env_.timers.at(env_.clock.now() + env_.pick(500, 8000), [this, set_full] { (*gateway_.*set_full)(false); });
      return;
    }
    default: return gateway_->crash("killed");
  }
}

void World::device_trouble() {
  SimDevice& device = *devices_[env_.random.below(devices_.size())];
  // Two are rare, and seldom harmful: the mutants of their rules have more of them.
  const bool is_marked = env_.mutant == Mutant::n8, is_told = env_.mutant == Mutant::n8_told;
  const bool is_owned = env_.mutant == Mutant::n7;
  const bool is_watched = (is_marked || is_told || is_owned) && env_.random.chance(2, 3);
  switch (is_watched ? (is_owned ? 8 : 9) : env_.random.below(10)) {
    case 9: return device.roll_back(is_marked || (!is_told && env_.random.chance(1, 2)));
    case 8: {
      SimDevice& other = *devices_[env_.random.below(devices_.size())];
      if (&other == &device) return;
      ++env_.counts.faults["store cloned"];
      return device.clone(other);
    }
    case 7:
      ++env_.counts.faults["device disk full"];
      env_.note(device.name(), "has a full disk");
      device.set_refusing(true);
      env_.timers.at(env_.clock.now() + env_.pick(100, 8000), [&device] { device.set_refusing(false); });
      return;
    case 6: return device.corrupt();
    case 0: return device.wipe();
    case 1:
    case 2: return device.reboot();
    default: return device.crash("killed");
  }
}

Process& World::any_process() {
  if (env_.random.chance(1, 4)) return *gateway_;
  return *devices_[env_.random.below(devices_.size())];
}

// A wall clock jumps, or a boot clock runs fast, runs slow or stands still for a while.
void World::clock_trouble() {
  Process& process = any_process();
  if (env_.random.chance(1, 3)) {
    ++env_.counts.faults["clock jump"];
    return process.clock().jump_wall(env_.pick(-1'000'000'000, 1'000'000'000));
  }
  const bool freeze = env_.random.chance(1, 3);
  ++env_.counts.faults[freeze ? "clock freeze" : "clock drift"];
  process.clock().set_rate(freeze ? 0 : env_.pick(700, 1400));
  env_.timers.at(env_.clock.now() + env_.pick(200, freeze ? 8'000 : 30'000),
                 [&process] { process.clock().set_rate(1000); });
}

bool World::may_forget_leader() {
  if (!second_gateways_->may_forget_leader()) return false;
  copied_gateways_->forget_leader();
  return true;
}

// With persistence it may come back with what it retained some time ago.
void World::restart_broker() {
  if (!may_forget_leader()) return;
  const Millis downtime = env_.pick(10, 5000);
  if (retained_before_.empty() || going_back_.chance(1, 2)) {
    ++env_.counts.faults["broker restart"];
    env_.note("broker", "restarts; its retained set is lost");
    return env_.broker.restart(downtime);
  }
  ++env_.counts.faults["broker goes back"];
  env_.note("broker", "restarts; its retained set goes back");
  env_.broker.restart(downtime, retained_before_[going_back_.below(retained_before_.size())]);
}

void World::network_trouble() {
  retained_before_.push_back(env_.broker.retained_set());
  if (retained_before_.size() > kMaxRetainedBefore) retained_before_.pop_front();
  Process* process = &any_process();
  switch (env_.random.below(10)) {
    case 8: ++env_.counts.faults["broker truncates"]; return env_.broker.truncate_queues(env_.random.below(10));
    case 9:
      if (!may_forget_leader()) return;
      ++env_.counts.faults["broker forgets"];
      // Its retained messages are lost; sessions survive.
      env_.note("broker", "forgets its retained set");
      env_.broker.wipe_retained();
      return gateway_->lose_link(env_.pick(10, 3000));
    case 0: return restart_broker();
    case 1:
    case 2:
      env_.note("network", "loses what " + process->name() + " sends");
      env_.network.block_from(process->name());
      break;
    case 3:
    case 4:
      env_.note("network", "loses what " + process->name() + " should hear");
      env_.network.block_to(process->name());
      break;
    default: return process->lose_link(env_.pick(10, env_.random.chance(1, 4) ? 25'000 : 3000));
  }
  const std::string name = process->name();
  env_.timers.at(env_.clock.now() + env_.pick(200, 15'000), [this, name] { env_.network.unblock(name); });
}

// A node replays another node's answer on its own topic, which the broker allows.
void World::replay_as_another() {
  if (env_.answers.empty()) return;
  ++env_.counts.faults["impostor"];
  SimDevice& device = *devices_[env_.random.below(devices_.size())];
  Message message;
  message.topic = Topics(kFleet).answers(kGateway, device.name());
  message.payload = env_.answers[env_.random.below(env_.answers.size())];
  device.forge(message);
}

void World::send_lies() {
  SimDevice& device = *hostile_[env_.random.below(hostile_.size())];
  ++env_.counts.faults["lie"];
  device.forge(lie(env_, device.name()));
}

void World::plan_storm() {
  env_.network.set_storm(true);
  const std::uint64_t slow_percent = plan_.rush ? kRushSlowPercent : kSlowPercent;
  for (const auto& device : devices_) {
    device->runtime().set_habits({.prepare_fails_percent = env_.random.below(15),
                                  .start_fails_percent = env_.random.below(8),
                                  .cannot_probe = plan_.seed % 2 == 1,
                                  .slow_percent = env_.random.below(slow_percent),
                                  .longest_stop_ms = plan_.rush ? kRushStopMs : kLongestStopMs,
                                  .evicts_percent = draws_one_in(kEvictsOneIn, plan_.evictions) ? 30u : 0u,
                                  .stop_is_a_lie = plan_.sabotage == Sabotage::s4,
                                  .undo_is_a_lie = plan_.sabotage == Sabotage::held});
  }
  if (draws_one_in(kPullsOneIn, plan_.pulls)) plan_pulls();
  // Larger fleets have more actions and faults.
  const auto crowd = static_cast<Millis>(1 + devices_.size() / 6);
  repeatedly(env_, plan_.rush ? kRushMs : env_.pick(100, 2000) / crowd + 1, [this] { operators_->act(); });
  if (deployer_ != nullptr) repeatedly(env_, 6'000, [this] { deployer_->act(); });
  repeatedly(env_, 20'000, [this] {
    republish_all();
    lost_machines_->decide_on_orphan_volumes();
  });
  // Faults that stop all binding for a while are rarer in a rush.
  const Millis apart = plan_.rush ? kRushApart : 1;
  repeatedly(env_, apart * env_.pick(6000, 60'000), [this] { gateway_trouble(); });
  repeatedly(env_, apart * env_.pick(3000, 40'000) / crowd, [this] { device_trouble(); });
  repeatedly(env_, apart * env_.pick(3000, 40'000) / crowd, [this] { network_trouble(); });
  repeatedly(env_, env_.pick(5000, 60'000) / crowd, [this] { clock_trouble(); });
  repeatedly(env_, env_.pick(300, 3000), [this] { replay_as_another(); });
  twins_.begin_storm();
  if (!hostile_.empty()) repeatedly(env_, env_.pick(100, 2000) / crowd + 1, [this] { send_lies(); });
  // Not where two devices have one name: of these a new gateway knows nothing.
  if (plan_.rush || twins_.are_there()) return;
  const auto forget_retained = [this] { retained_before_.clear(); };
  lost_machines_->begin_storm(plan_.storm_ms, forget_retained);
  if (lost_machines_->are_there()) return;
  second_gateways_->begin_storm(plan_.storm_ms, forget_retained);
  if (second_gateways_->are_there()) return;
  copied_gateways_->begin_storm(plan_.storm_ms, forget_retained);
  if (!copied_gateways_->are_there()) put_back_cards_->begin_storm(plan_.storm_ms, forget_retained);
}

// Whether the fleet has what one in `one_in` small fleets has; `asked`: all have it.
bool World::draws_one_in(std::uint64_t one_in, bool asked) const {
  return asked || (!plan_.rush && !is_busy() && plan_.seed % one_in == 2);
}

void World::plan_pulls() {
  Random random(plan_.seed ^ 0x50554c4c);
  for (const auto& device : devices_) {
    SimImages::Habits habits{.missing_percent = 30 + random.below(60), .fails_percent = random.below(25)};
    if (random.chance(1, 2)) habits.ms_per_day = 1000 + static_cast<Millis>(random.below(9000));
    device->images().set_habits(habits, random.next());
  }
}

// All pods known to the gateway or the broker.
std::set<std::pair<std::string, std::string>> World::pods_seen() const {
  std::set<std::pair<std::string, std::string>> seen;
  const std::string prefix = Topics(kFleet).root() + "desired/pods/";
  for (const auto& [topic, payload] : env_.broker.retained()) {
    if (!topic.starts_with(prefix)) continue;
    const Result<Json> json = Json::parse(payload);
    const Json* metadata = json ? json->find("metadata") : nullptr;
    const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
    if (uid != nullptr && uid->is_string()) seen.emplace(topic.substr(prefix.size()), uid->as_string());
  }
  if (gateway_->gateway() == nullptr) return seen;
  const Objects& objects = gateway_->gateway()->objects();
  for (const auto& [key, entry] : objects.pods().all()) {
    if (entry.pod->metadata.namespace_ != kWorkloads) seen.emplace(key, entry.pod->uid());
  }
  for (const auto& [key, uid] : objects.pods().names_awaited()) seen.emplace(key, uid);
  return seen;
}

void World::republish_all() {
  operators_->republish_all(pods_seen(), lost_machines_->orphans_seen());
  provisioner_.republish_all();
  if (deployer_ != nullptr) deployer_->say_again();
}

void World::stop_faults() {
  env_.note("world", "the storm is over");
  env_.network.set_storm(false);
  const bool broken = plan_.sabotage == Sabotage::l5;
  for (const auto& device : devices_) {
    device->runtime().set_habits({.prepare_fails_percent = broken ? 100u : 0u,
                                  .stop_is_a_lie = plan_.sabotage == Sabotage::s4,
                                  .undo_is_a_lie = plan_.sabotage == Sabotage::held});
    device->images().set_habits({}, plan_.seed);
    device->set_refusing(false);
    device->take_data_away();
    device->boot();
  }
  twins_.end_storm();
  second_gateways_->end_storm();
  copied_gateways_->end_storm();
  for (const auto& device : devices_) device->clock().set_rate(1000);
  gateway_->clock().set_rate(1000);
  // Lying devices are set up again from scratch.
  for (SimDevice* device : hostile_) device->wipe();
  gateway_->set_full(false);
  gateway_->set_memory_full(false);
  gateway_->boot();
  operators_->settle();
}

// Either a broker without persistence restarts and loses its retained messages, or gateway and devices reconnect to a
// broker that still retains what they could not clear.
void World::reconnect() {
  if (env_.random.chance(1, 2)) {
    env_.note("broker", "restarts; its retained set is lost");
    return env_.broker.restart(100);
  }
  gateway_->lose_link(100);
  for (const auto& device : devices_) device->lose_link(100);
}

// Behind the device's own sweep at its last connect (N6), so that only the gateway clears it (D4).
void World::leave_junk() {
  for (SimDevice* device : hostile_) {
    for (int i = 0; i < 3; ++i) device->forge(junk_status(env_, device->name()));
  }
}

// A large fleet never settles completely.
void World::check_mirror() {
  if (is_busy() || gateway_->gateway() == nullptr) return;
  Breach difference;
  for (int reading = 0; reading < 2; ++reading) {  // in the first one a workload may have ended by itself
    reader_.ask_for_all();
    run_until(env_.clock.now() + kReadMs);
    if (violation_ || gateway_->gateway() == nullptr) return;
    difference = find_mirror_difference(*gateway_->gateway(), env_.broker.retained(), reader_);
    if (!difference) break;
  }
  if (difference) return violate("M", "the broker retains exactly what the gateway holds", *difference);
  for (const auto& device : devices_) {
    const NodeState& state = env_.witness.device(device->name())->durable.state;
    if (Breach breach = find_node_status_difference(device->name(), state, env_.broker.retained())) {
      return violate("M", "the broker retains the statuses of exactly the slots", *breach);
    }
    if (env_.witness.device(device->name())->hostile || twins_.are_there()) continue;
    const auto kept = device->output().kept();
    const auto& faults = env_.counts.faults;
    const bool is_exact = !env_.gateway_store_lost && !env_.forgotten_nodes.contains(device->name()) &&
                          !faults.contains("machine lost") && !faults.contains("second gateway") &&
                          !faults.contains("gateway handed over");
    if (is_exact && !device->pool().all().empty()) ++env_.counts.faults["pool compared"];
    if (Breach breach = find_pool_difference(*gateway_->gateway(), *device, is_exact)) {
      return violate("POOLS", "no directory without a volume, and no volume without a directory", *breach);
    }
    if (Breach breach = find_config_difference(*gateway_->gateway(), device->name(), device->runtime().objects())) {
      return violate("CONFIGS", "devices have the ConfigMaps and Secrets that their pods refer to", *breach);
    }
    if (Breach breach = find_kept_output_without_object(*gateway_->gateway(), device->name(), kept)) {
      return violate("OUTPUT", "devices keep what pods wrote no longer than their objects stay", *breach);
    }
  }
}

void World::check_workloads() {
  if (deployer_ == nullptr || gateway_->gateway() == nullptr) return;
  if (Breach breach = deployer_->find_difference(*gateway_->gateway())) {
    violate("ROLLOUT", "a Deployment has the pods that it asks for, within its limits", *breach);
  }
}

// Runs last, since it disturbs the fleet. Not in a rush, to save time.
void World::check_orders() {
  if (is_busy() || plan_.rush || gateway_->gateway() == nullptr) return;
  orders_->connect();
  run_until(env_.clock.now() + kReadMs);
  const auto run = [this](Millis ms) { return run_until(env_.clock.now() + ms); };
  if (Breach breach = orders_->find_undone(run)) {
    if (orders_->has_gone_back()) {
      return violate("S15", "what was deleted or replaced does not come back with an older retained set", *breach);
    }
    violate("ORDER", "the last version of an object wins, whatever the broker retains", *breach);
  }
}

bool World::run() {
  operators_->connect();
  provisioner_.connect();
  if (deployer_ != nullptr) deployer_->connect();
  reader_.connect();
  gateway_->boot();
  for (const auto& device : devices_) {
    env_.timers.at(env_.pick(0, kQuietStartMs), [&device] { device->boot(); });
  }
  bool ok = run_until(kQuietStartMs);
  plan_storm();
  const Millis end = kQuietStartMs + plan_.storm_ms;
  ok = ok && run_until(end);
  if (ok) stop_faults();
  for (const Millis at : {Millis{1000}, kLastRepublishMs / 2, kLastRepublishMs}) {
    ok = ok && run_until(end + at);
    // Until the last republishing, messages delayed in the fault phase are still in transit.
    env_.witness.reset_attempts();
    if (ok) republish_all();
    if (ok && at > kConnectedMs) lost_machines_->end_adopt_mode();
    if (ok && at > kConnectedMs && lost_machines_->are_there()) lost_machines_->decide_on_orphans();
    if (ok && at > kConnectedMs) twins_.forget_nodes(*gateway_, *operators_);
    if (ok && plan_.sabotage == Sabotage::l1 && gateway_->gateway() != nullptr) gateway_->sabotage_queue();
  }
  const auto told = env_.witness.gateway().id.store_id;
  ok = ok && run_until(end + kReconnectMs);
  if (ok) reconnect();
  ok = ok && run_until(end + kJunkMs);
  // What the operators have deleted, such a store finds on the devices, and makes pods of it (P14): only they can tell.
  if (ok && env_.witness.gateway().id.store_id != told) republish_all();
  if (ok) leave_junk();
  ok = ok && run_until(end + kRestMs);
  env_.witness.end_rollbacks(gateway_->key());
  const std::uint64_t before = env_.witness.late_resends();
  ok = ok && run_until(end + kQuietMs);
  next_full_check_ = 0;
  check();
  ok = !violation_;
  if (ok) check_liveness(env_.witness.late_resends() - before);
  if (!violation_) check_workloads();
  if (!violation_) check_mirror();
  if (!violation_) check_orders();
  env_.counts.events = env_.trace.events();
  env_.counts.binds = env_.witness.binds();
  for (const auto& device : devices_) env_.counts.starts += device->runtime().started();
  env_.counts.virtual_ms = env_.clock.now();
  return !violation_;
}

}  // namespace berth::sim
