#include "tests/sim/twins.h"

#include <set>
#include <string>

#include "tests/sim/storm.h"

namespace berth::sim {

void Twins::draw(std::uint64_t seed, const std::vector<std::unique_ptr<SimDevice>>& devices,
                 const std::function<AgentConfig(std::size_t)>& config_of) {
  Random random(seed ^ 0x5457494e);
  const bool is_broken = world_.mutant == Mutant::d5 || world_.mutant == Mutant::d5_copy;
  const bool is_drawn = random.chance(1, 4) || is_broken;
  const bool is_wanted = world_.mutant == Mutant::none || is_broken;
  if (!is_drawn || !is_wanted || world_.sabotage != Sabotage::none) return;
  const std::size_t number = random.below(devices.size());
  if (world_.witness.device(devices[number]->name())->hostile) return;
  original_ = devices[number].get();
  AgentConfig config = config_of(number);
  // No machine of a fleet has a serial number. One in three twins has a machine id of its own, one has the same, and of
  // one in three pairs neither has one.
  switch (world_.mutant == Mutant::d5_copy ? 1 : random.below(3)) {
    case 0: config.machine_id = "machine-of-twin"; break;
    case 1: break;
    default: config.machine_id.clear(); original_->set_machine({}, {});
  }
  if (world_.mutant == Mutant::d5_copy) {  // the gateway takes it for that of one board
    config.hardware_serial = config.machine_id;
    original_->set_machine(config.machine_id, config.hardware_serial);
  }
  twin_ = std::make_unique<SimDevice>(world_, config, config.node + "-twin");
}

void Twins::begin_storm() {
  if (!are_there()) return;
  original_->set_contended(true);
  twin_->set_contended(true);
  repeatedly(world_, 8'000, [this] { trouble(); });
}

void Twins::trouble() {
  switch (world_.random.below(8)) {
    case 0: return twin_->switch_off();
    case 1: return twin_->wipe();
    case 2: return twin_->reboot();
    case 3: return twin_->crash("killed");
    default: ++world_.counts.faults["second device of a name"]; return twin_->boot();
  }
}

void Twins::end_storm() {
  if (!are_there()) return;
  twin_->boot();  // or one that is due would come later
  twin_->retire();
  original_->set_contended(false);
}

void Twins::forget_nodes(const SimGateway& gateway, Operators& operators) const {
  if (gateway.gateway() == nullptr) return;
  std::set<std::string> nodes;
  for (const std::string& mark : gateway.gateway()->identity().twins) nodes.insert(mark.substr(0, mark.find('/')));
  for (const std::string& node : nodes) operators.forget(node);
}

std::optional<Millis> Twins::next_due() const { return are_there() ? twin_->next_due() : std::nullopt; }

void Twins::run_due() {
  if (are_there()) twin_->run_due();
}

}  // namespace berth::sim
