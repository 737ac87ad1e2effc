// The taints that the node lifecycle controller keeps on nodes, and their writes
// (pkg/controller/controller_utils.go, AddOrUpdateTaintOnNode and RemoveTaintOffNode).
#pragma once

#include <vector>

#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_node.h"

namespace berth {

// With effect NoExecute, for a node that reports that it is not ready, and for one that is not heard of.
const Taint& not_ready_taint();
const Taint& unreachable_taint();
// Taints are told apart by key and effect.
bool has_taint(const ControlledNode& node, const Taint& taint);

struct TaintChange {
  std::vector<Taint> add;
  std::vector<Taint> remove;
};
// What makes the NoSchedule taints of the node those of its conditions and of spec.unschedulable; others are left
// alone.
TaintChange taints_by_conditions(const ControlledNode& node);

// Writes the change, the additions first, with the present time, which they also give to taints that are there already.
// `seen`: the node as it was when the change was decided; nothing is removed if it had none of these taints.
Status change_taints(ClusterAccess& cluster, const ControlledNode& seen, const TaintChange& change);

}  // namespace berth
