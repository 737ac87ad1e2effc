// Which nodes are in which wave.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/controllers/rollout/rollout_input.h"

namespace berth {

// For each wave of the plan the indices of its nodes; every node is in one. Of a wave that takes a share, nodes that
// have the revision or have failed with it come first, in the order in which they got it, so that they stay in the wave
// in which they got it; then those that answer, by name, so that silent ones are left to later waves.
using WaveMembers = std::vector<std::vector<std::size_t>>;
WaveMembers wave_members(const RolloutPlan& plan, const std::vector<RolloutNode>& nodes,
                         const std::set<std::string>& failed);

}  // namespace berth
