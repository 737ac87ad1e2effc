// RolloutStatus: how far the rollout by a plan (rollout_plan.h) has come: status.rollout of a DaemonSet or Deployment.
// It is all that is remembered between two looks at the fleet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/json/json.h"
#include "core/optional_time.h"

namespace berth {

class FieldReader;

struct RolloutStatus {
  enum class Phase { progressing, paused, stopped, complete, rolled_back };
  Phase phase = Phase::progressing;
  std::string revision;         // the one that is rolled out: the hash in the labels of its pods
  std::string stable_revision;  // the last one that has passed all waves; empty: none
  std::int32_t wave = 0;        // the present one, counted from 0
  std::string wave_name;
  OptionalTime wave_started;
  OptionalTime soaking_since;       // none: the wave's nodes are not all done yet
  std::vector<std::string> failed;  // nodes, or pods of a Deployment, in order
  // Nodes that fell silent before the new revision had proved itself on them, and when: a gateway that starts again
  // would take them for silent since then only, and what they ran until then for proof.
  std::map<std::string, Millis> silent_on_trial;
  std::string message;  // for people: what it waits for
  bool operator==(const RolloutStatus&) const = default;
};
std::string_view to_string(RolloutStatus::Phase phase);

Json to_json(const RolloutStatus& status);

namespace decode {

// status.rollout
void read_rollout_status(FieldReader& status, std::optional<RolloutStatus>& out);

}  // namespace decode
}  // namespace berth
