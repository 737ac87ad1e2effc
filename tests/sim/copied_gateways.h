// CopiedGateways: the card of the gateway was copied, and there are two equal gateways: one machine code, key and store
// (P11, P12, P13). The copy comes beside its original, and has to wait; or the two serve in turn, each with a store
// that has grown stale since it served last. They have one broker, which retains who has led; or each card has its own,
// and only the devices tell (core/handshake/limits.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "tests/sim/rival_gateway.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

class CopiedGateways {
 public:
  // Both outlive it.
  CopiedGateways(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed);

  // The fault phase of this length begins, and ends. It happens in one of three fleets. `forget_retained`: what the
  // broker retained before names other leaders, and must not come back.
  void begin_storm(Millis storm_ms, std::function<void()> forget_retained);
  void end_storm();
  // Does it in this fleet?
  bool are_there() const { return are_there_; }
  // The broker is about to lose what it retains of gateways: nothing would tell a copy that its original is there.
  void forget_leader() { end_storm(); }

  std::optional<Millis> next_due() const { return copy_ == nullptr ? std::nullopt : copy_->next_due(); }
  void run_due() {
    if (copy_ != nullptr) copy_->run_due();
  }

 private:
  void let_copy_come();
  void take_turns();

  SimEnvironment& world_;
  SimGateway& gateway_;
  Random random_;
  std::unique_ptr<RivalGateway> copy_;  // beside its original; null: none comes
  std::function<void()> forget_retained_;
  bool has_own_broker_ = false;  // each card
  bool are_there_ = false;
};

}  // namespace berth::sim
