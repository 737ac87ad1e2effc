// Whom a pod would have to drive off one node: the dry run of DefaultPreemption, on copies.
// Source: kube-scheduler pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode,
// filterPodsWithPDBViolation), pkg/scheduler/util/utils.go (MoreImportantPod, GetEarliestPodStartTime).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/framework/framework.h"

namespace berth::preemption {

using Pods = std::vector<std::shared_ptr<const Pod>>;
using Budgets = std::vector<std::shared_ptr<const PodDisruptionBudget>>;

struct Candidate {
  std::string node;
  Pods victims;                     // most important first, at least one
  std::int64_t pdb_violations = 0;  // victims whose eviction no budget allows
};

// Less is better: budgets violated, highest priority, sum of priorities, number, and the latest start.
using Harm = std::tuple<std::int64_t, std::int32_t, std::int64_t, std::size_t, std::int64_t>;
Harm harm_of(const Candidate& candidate);

// Milliseconds since 1970. A pod that has not started yet counts as later than all that have.
std::int64_t start_of(const Pod& pod);
// Higher priority first, then the earlier start.
bool more_important(const Pod& a, const Pod& b);
// The earliest start among the victims of the highest priority.
std::int64_t earliest_start(const Pods& victims);

struct Split {
  Pods violating;  // their eviction would violate a budget if the others before them went too
  Pods others;
};
// Keeps the order of `pods`; each pod uses up one disruption of every budget that selects it. Replaces what is in
// `split`.
void split_by_budgets(const Pods& pods, const Budgets& budgets, Split& split);

// One node under trial: copies to be spoilt, and room for lists. The next trial has its memory.
struct Ground {
  CycleState state;
  NodeInfo node;
  Pods lower;
  Split split;
};

// The pods of lower priority on the node that must go for `pod` to fit, as few as reprieving in order of importance
// leaves: first those that a budget protects, then the others.
// Success: `found`, which is empty before, holds the victims; unresolvable: nobody there has a lower priority; other:
// why the pod does not fit even without all of them, or what broke.
Status select_victims(const Framework& framework, const Nominator& nominator, const Budgets& budgets, const Pod& pod,
                      Ground& ground, Candidate& found);

}  // namespace berth::preemption
