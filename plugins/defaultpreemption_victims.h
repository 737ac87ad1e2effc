// The victims that a pod would have to evict from one node: the dry run of DefaultPreemption, on copies.
// Source: kube-scheduler pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode,
// filterPodsWithPDBViolation), pkg/scheduler/util/utils.go (MoreImportantPod, GetEarliestPodStartTime).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/asked_amounts.h"
#include "core/cache/node_info.h"
#include "core/framework/framework.h"

namespace berth::preemption {

using Pods = std::vector<PodPtr>;
using Budgets = std::vector<std::shared_ptr<const PodDisruptionBudget>>;

struct Candidate {
  std::string node;
  Pods victims;                     // most important first, at least one
  std::int64_t pdb_violations = 0;  // victims whose eviction would violate a budget
};

// Less is better: violated budgets, highest priority, sum of priorities, number of victims, and the latest start.
using Harm = std::tuple<std::int64_t, std::int32_t, std::int64_t, std::size_t, std::int64_t>;
Harm harm_of(const Candidate& candidate);

// Milliseconds since 1970. A pod that has not started yet counts as later than any that has.
std::int64_t start_of(const Pod& pod);
// Higher priority first, then the earlier start.
bool more_important(const Pod& a, const Pod& b);
// The earliest start among the victims with the highest priority.
std::int64_t earliest_start(const Pods& victims);

// Higher priority first, then the earlier start. Stable: equal pods keep their order.
void sort_by_importance(Pods& pods);

struct Split {
  Pods violating;  // evicting them, after the pods before them, would violate a budget
  Pods others;
};
// Keeps the order of `pods`; each pod uses up one disruption of every budget that selects it. Replaces the contents of
// `split`.
void split_by_budgets(const Pods& pods, const Budgets& budgets, Split& split);

// Copies of state and node that a dry run modifies, and its lists. Kept to reuse the memory.
struct Workspace {
  CycleState state;
  PluginBits by_object;  // whose Filter reads nothing of a node but its object: no victim changes what it says
  AskedAmounts amounts;
  NodeInfo node;
  Pods lower;
  Split split;
};

// Whether a pod on the node has a lower priority.
bool has_victims(const NodeInfo& node, const Pod& pod);
// Replaces `lower` by the pods on the node that have a lower priority, in its order.
void list_lower(const NodeInfo& node, const Pod& pod, Pods& lower);
// Finds the pods of lower priority on the node, which has some, that must be evicted for `pod` to fit. Starts without
// all of them and reprieves pods in order of importance: first those that a budget protects, then the others.
// Success: `found`, initially empty, has the victims. Other: why the pod does not fit even without all of them, or an
// error.
Status select_victims(const Framework& framework, const Nominator& nominator, const Budgets& budgets, const Pod& pod,
                      Workspace& workspace, Candidate& found);

}  // namespace berth::preemption
