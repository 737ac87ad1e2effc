// PutBackCards: the gateway's whole card is put back from an earlier image: store, mark and key, and what the broker on
// it retained is gone. Nothing of that tells the gateway; the first device that has obeyed a later start does (P12).
// What it places before that may run twice (core/handshake/limits.md).
#pragma once

#include <functional>

#include "tests/sim/sim_gateway.h"

namespace berth::sim {

class PutBackCards {
 public:
  // Both outlive it.
  PutBackCards(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed);

  // The fault phase of this length begins. It happens in one of three fleets. `forget_retained`: what the broker
  // retained before names later leaders, and must not come back.
  void begin_storm(Millis storm_ms, std::function<void()> forget_retained);

 private:
  void put_back();

  SimEnvironment& world_;
  SimGateway& gateway_;
  Random random_;
  std::function<void()> forget_retained_;
};

}  // namespace berth::sim
