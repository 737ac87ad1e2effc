#include "core/objects/node_holds.h"

namespace berth {

const HoldName& describe(Hold hold) {
  static constexpr HoldName kPassedOver{"node.berth/passed-over", "PassedOver", "TookNoPod"};
  static constexpr HoldName kQuarantined{"node.berth/quarantined", "Quarantined", "BeyondLimits"};
  static constexpr HoldName kTwins{kQuarantined.taint, kQuarantined.condition, "TwoDevices"};
  if (hold == Hold::twins) return kTwins;
  return hold == Hold::passed_over ? kPassedOver : kQuarantined;
}

std::string quarantine_of(const Holds& holds) {
  std::string reasons;
  for (const auto& [hold, why] : holds) {
    if (hold != Hold::passed_over) reasons += (reasons.empty() ? "" : "; ") + why;
  }
  return reasons;
}

}  // namespace berth
