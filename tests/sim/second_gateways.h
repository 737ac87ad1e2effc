// SecondGateways: other gateways of the fleet (P13, S13). One comes while the first one serves, and has to wait; or
// another machine serves the fleet for a while, with a store of its own, and the first one comes back after it. In
// between the first one may run on, cut off at first, and then has to wait as well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "tests/sim/rival_gateway.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

class SecondGateways {
 public:
  // Both outlive it.
  SecondGateways(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed);

  // The fault phase of this length begins, and ends. Each happens in one of four fleets. `forget_retained`: what the
  // broker retained before names other leaders, and must not come back.
  void begin_storm(Millis storm_ms, std::function<void()> forget_retained);
  void end_storm();
  // Does it in this fleet?
  bool are_there() const { return are_there_; }
  // The broker may lose what it retains of gateways.
  bool may_forget_leader();

  std::optional<Millis> next_due() const;
  void run_due();

 private:
  bool gateway_leads() const;
  void let_rival_come();
  void hand_over();

  SimEnvironment& world_;
  SimGateway& gateway_;
  Random random_;
  std::unique_ptr<RivalGateway> rival_;  // null: none comes
  RivalGateway former_;                  // the program of the machine that was replaced last
  std::function<void()> forget_retained_;
  bool are_there_ = false;
};

}  // namespace berth::sim
