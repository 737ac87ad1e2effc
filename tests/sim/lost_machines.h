// LostMachines: the machine of the gateway and its broker is lost, with store, mark, key, retained set and sessions
// (P14, P15, S14). Operators apply everything again to the next one, decide on workloads that were found, and end adopt
// mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/operators.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

class LostMachines {
 public:
  // All outlive it.
  LostMachines(SimEnvironment& world, SimGateway& gateway, Operators& operators,
               const std::vector<std::unique_ptr<SimDevice>>& devices, std::uint64_t seed);

  // The fault phase of this length begins: in one of four fleets the machine is lost, once or twice. `forget_retained`:
  // what the broker retained before is gone as well.
  void begin_storm(Millis storm_ms, std::function<void()> forget_retained);
  // It is lost in this fleet.
  bool are_there() const { return are_there_; }

  // Of what the configuration leaves to the operator; and of nodes that he does not wait for any longer.
  void decide_on_orphans();
  // Of directories that no volume names: in every fleet.
  void decide_on_orphan_volumes();
  // All nodes are connected, and those that were to answer have: only the operator knows that there are no others.
  void end_adopt_mode();
  Operators::Seen orphans_seen() const;

 private:
  void lose();

  SimEnvironment& world_;
  SimGateway& gateway_;
  Operators& operators_;
  const std::vector<std::unique_ptr<SimDevice>>& devices_;
  Random random_, volume_random_;
  bool are_there_ = false;
  std::function<void()> forget_retained_;
};

}  // namespace berth::sim
