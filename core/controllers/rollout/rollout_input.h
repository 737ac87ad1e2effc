// What a rollout is decided by.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/api/rollout_plan.h"
#include "core/api/rollout_status.h"
#include "core/clock.h"
#include "core/controllers/time_zones/time_zone.h"
#include "core/optional_time.h"
#include "core/shared.h"

namespace berth {

// A node that should run a pod, and that pod. All times are milliseconds since 1970.
struct RolloutNode {
  std::string name;
  Shared<Labels> labels;
  OptionalTime silent_since;       // since when the node has not answered; none: it answers
  const TimeZone* zone = nullptr;  // outlives the input; null: UTC

  bool has_pod = false;  // of any revision, and not being deleted
  bool updated = false;  // it is of the new revision
  // What follows is of the updated pod.
  OptionalTime created;
  bool ready = false;
  OptionalTime ready_changed;  // since when it is ready without a restart, or is not ready; none: never was
  std::int32_t restarts = 0;
  bool has_ended = false;  // its phase is Failed
  // Without an updated pod: when the old one was told to go; none: it was not.
  OptionalTime deletion_asked;
};

struct RolloutInput {
  const RolloutPlan& plan;
  bool paused = false;
  const std::optional<RolloutStatus>& before;  // none: the plan is new
  std::string revision;                        // of the object's template
  std::set<std::string> revisions;             // all that there are
  std::string running;                         // the newest of the others that pods have; empty: none
  std::vector<RolloutNode> nodes;
  std::string note;  // for people, added to the message; empty: none
  Millis now = 0;
};

}  // namespace berth
