// Which pods of a ReplicaSet go when it has too many.
#pragma once

#include <vector>

#include "core/clock.h"
#include "core/controllers/controlled_pod.h"

namespace berth {

// The order in which pods go (pkg/controller/controller_utils.go, ActivePodsWithRanks): without node, not yet running,
// not ready, cheap by the annotation controller.kubernetes.io/pod-deletion-cost, beside many of the related pods on
// their node, ready for a short time, often restarted, young. Times are compared by their power of two, as upstream
// with the feature LogarithmicScaleDown. `related`: the pods of all ReplicaSets with the same controller; inactive ones
// do not count. Pods that are equal in all of it keep their order. O(n log n).
std::vector<ControlledPodPtr> victims(const std::vector<ControlledPodPtr>& pods,
                                      const std::vector<ControlledPodPtr>& related, std::size_t count, Millis now);

}  // namespace berth
