// What a rollout by a plan does now: a plain function of the plan, the fleet and the time. Only its status is kept.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/controllers/rollout/rollout_input.h"

namespace berth {

struct RolloutDecision {
  RolloutStatus status;        // to be written where it differs
  std::string revision;        // that is rolled out: the newest or, once that has failed, the stable one
  std::set<std::string> open;  // nodes that may get it now; the others keep what they have, or get the stable one
  std::set<std::string> no_unavailable;  // nodes whose unavailable pods no limit counts: silent or failed for good
  std::optional<Millis> wake_at;         // when time alone may change the decision
};

RolloutDecision decide_rollout(const RolloutInput& input);

}  // namespace berth
