#include "tests/sim/lost_machines.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tests/sim/storm.h"

namespace berth::sim {

namespace {

// Up to so long the new machine takes, and its operators to apply everything again; and so often they decide on
// workloads without an object.
constexpr std::uint64_t kAwayMs = 8'000;
constexpr Millis kApplyAnewMs = 15'000, kDecideMs = 5'000;

// Node and uid of an orphan: "<node>/<uid>/<epoch>".
std::pair<std::string, std::string> parts_of(const std::string& orphan) {
  const std::size_t from = orphan.find('/') + 1;
  return {orphan.substr(0, from - 1), orphan.substr(from, orphan.find('/', from) - from)};
}

}  // namespace

LostMachines::LostMachines(SimEnvironment& world, SimGateway& gateway, Operators& operators,
                           const std::vector<std::unique_ptr<SimDevice>>& devices, std::uint64_t seed)
    : world_(world),
      gateway_(gateway),
      operators_(operators),
      devices_(devices),
      random_(seed ^ 0x4c4f5354),
      volume_random_(seed ^ 0x4f525048) {}

void LostMachines::begin_storm(Millis storm_ms, std::function<void()> forget_retained) {
  forget_retained_ = std::move(forget_retained);
  const bool is_of_rule = world_.mutant >= Mutant::p14 && world_.mutant <= Mutant::p15_word;
  if (!is_of_rule && !random_.chance(1, 4)) return;
  are_there_ = true;
  for (std::uint64_t nth = 1 + random_.below(2); nth > 0; --nth) {
    const auto delay = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(storm_ms)));
    once(world_, delay, [this] { lose(); });
  }
  repeatedly(world_, kDecideMs, [this] { decide_on_orphans(); });
}

// Operators apply their manifests to the new machine, some before the devices have connected to its broker.
void LostMachines::lose() {
  if (!world_.network.is_storm()) return;
  ++world_.counts.faults["machine lost"];
  world_.note("world", "the machine of gateway and broker is lost");
  const bool is_marked_new = random_.chance(1, 2), has_list = random_.chance(2, 3);
  gateway_.replace_machine(is_marked_new, has_list, static_cast<Millis>(random_.below(kAwayMs)));
  forget_retained_();
  world_.broker.restart(static_cast<Millis>(random_.below(kAwayMs)));
  operators_.apply_anew(random_, kApplyAnewMs);
}

void LostMachines::end_adopt_mode() {
  if (gateway_.gateway() == nullptr) return;
  const Identity& identity = gateway_.gateway()->identity();
  const bool all_heard = std::none_of(devices_.begin(), devices_.end(), [this](const auto& device) {
    return world_.witness.names().is_unheard(device->name()) && !world_.witness.device(device->name())->hostile;
  });
  if (identity.awaits_operator && identity.adopt_nodes.empty() && all_heard) operators_.end_adopt_mode();
}

void LostMachines::decide_on_orphans() {
  if (gateway_.gateway() == nullptr) return;
  const Identity& identity = gateway_.gateway()->identity();
  end_adopt_mode();
  if (identity.adopting && !identity.awaits_operator && random_.chance(1, 8)) operators_.end_adopt_mode();
  for (const std::string& orphan : identity.orphans) {
    if (world_.network.is_storm() && !random_.chance(1, 4)) continue;
    const auto [node, uid] = parts_of(orphan);
    const std::string name = world_.witness.names().name_of(uid);
    if (!name.empty()) operators_.decide(name, uid, node);
  }
}

// Not in a fleet of another fault alone: stores of gateways are lost, and nodes forgotten, without the machine too.
void LostMachines::decide_on_orphan_volumes() {
  if (gateway_.gateway() == nullptr) return;
  for (const OrphanVolumes::Orphan& orphan : gateway_.gateway()->orphan_volumes().all()) {
    if (!volume_random_.chance(1, 3)) continue;
    ++world_.counts.faults["orphan volume decided on"];
    operators_.decide_on_volume(orphan.volume.volume, orphan.node, volume_random_.chance(1, 2));
  }
}

Operators::Seen LostMachines::orphans_seen() const {
  Operators::Seen seen;
  for (const std::string& orphan : world_.witness.gateway().orphans) {
    const std::string uid = parts_of(orphan).second;
    seen.emplace(world_.witness.names().name_of(uid), uid);
  }
  return seen;
}

}  // namespace berth::sim
