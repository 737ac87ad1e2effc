// Twins: two machines under one name, each with a store of its own (D5, S16). The second one takes the other's
// connection over again and again, is switched off, wiped and started at times, and set up under another name at the
// end. Some are clones: of one machine id, or without any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tests/sim/operators.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

class Twins {
 public:
  explicit Twins(SimEnvironment& world) : world_(world) {}

  // In one of four fleets one of the devices is there twice, drawn from a random stream of its own.
  void draw(std::uint64_t seed, const std::vector<std::unique_ptr<SimDevice>>& devices,
            const std::function<AgentConfig(std::size_t)>& config_of);
  // This fleet has two devices of one name.
  bool are_there() const { return twin_ != nullptr; }

  // The fault phase begins, and ends.
  void begin_storm();
  void end_storm();
  // What ran on the device that is gone for good, only the operator can tell.
  void forget_nodes(const SimGateway& gateway, Operators& operators) const;

  std::optional<Millis> next_due() const;
  void run_due();

 private:
  void trouble();

  SimEnvironment& world_;
  SimDevice* original_ = nullptr;  // whose name `twin_` has
  std::unique_ptr<SimDevice> twin_;
};

}  // namespace berth::sim
