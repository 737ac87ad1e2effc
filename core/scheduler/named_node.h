// The two ways to a node: a pod whose manifest has spec.nodeName goes to that node, if the node admits it; for any
// other the scheduling cycle decides.
#pragma once

#include "core/scheduler/scheduling_cycle.h"

namespace berth {

// spec.nodeName bypasses the scheduler upstream: no Filter, no Score, no Permit. What its kubelet would check is
// checked here, by the plugins that have admit(), since taints and labels of the operator's overlay are not known to
// the device. Rejected, or a node that is not known: the pod waits in the queue for what its plugins are woken by.
ScheduleResult admit_to_named_node(const Framework& framework, CycleState& state, const Pod& pod,
                                   const Snapshot& snapshot);

// That one, or schedule_pod().
ScheduleResult find_node(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                         NodeSearch& search, NodeEvaluator* evaluator = nullptr);

}  // namespace berth
