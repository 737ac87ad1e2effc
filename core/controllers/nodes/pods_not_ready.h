// Pods of nodes that are not ready (pkg/controller/util/node/controller_utils.go, MarkPodsNotReady).
#pragma once

#include "core/controllers/cluster_access.h"

namespace berth {

// Sets the condition Ready of the pod to False, with an event. A pod without the condition, or with False, is left
// alone.
Status mark_not_ready(const ControlledPod& pod, ClusterAccess& cluster);

}  // namespace berth
