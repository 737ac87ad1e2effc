// What a rollout reports to people: the message in its status, and events when it goes on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/rollout_plan.h"
#include "core/api/rollout_status.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/rollout/node_progress.h"

namespace berth {

// How far the nodes of the present wave are.
struct WaveCounts {
  std::int32_t nodes = 0;
  std::map<NodeProgress::State, std::int32_t> by_state;
  std::int32_t outside_window = 0;  // of those that are outdated
};

// It names times, never how long something takes, so that it changes only with the fleet.
std::string rollout_message(const RolloutStatus& status, const RolloutPlan& plan, const WaveCounts& counts);

// What has happened between two statuses; none: there was no plan.
std::vector<WorkloadEvent> rollout_events(const std::optional<RolloutStatus>& before, const RolloutStatus& after);

}  // namespace berth
