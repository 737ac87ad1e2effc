// What a rollout asks of a pod of the new revision.
#pragma once

#include "core/controllers/controlled_pod.h"
#include "core/controllers/rollout/rollout_input.h"

namespace berth {

// Makes the pod the updated one of the node.
void set_health(const ControlledPod& pod, RolloutNode& node);

}  // namespace berth
