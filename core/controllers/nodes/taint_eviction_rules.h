// How long a pod may stay on a node that has NoExecute taints (pkg/controller/tainteviction/taint_eviction.go).
#pragma once

#include <optional>
#include <vector>

#include "core/api/taint.h"
#include "core/clock.h"
#include "core/controllers/controlled_node.h"

namespace berth {

// The node's taints with this effect.
std::vector<NodeTaint> no_execute_taints(const ControlledNode& node);

// What tolerations make of taints.
struct TaintTolerance {
  bool tolerates_all = false;        // false: the pod has to go at once
  std::optional<Millis> limit = {};  // how long all are tolerated, not negative; none: for ever
};

// Of the tolerations that match a taint the first counts, and of those the shortest. Where there are no taints, the
// limit is 0, as in getMinTolerationTime. A time of more than 292 years overflows as Go's Duration does: it may come
// out shorter, or as for ever.
TaintTolerance tolerance_of(const std::vector<NodeTaint>& taints, const std::vector<Toleration>& tolerations);

}  // namespace berth
