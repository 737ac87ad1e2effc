// The same dry run as select_victims() by sums alone, where what a pod's Filter plugins read of the pods on a node is
// no more than what is requested and how many there are (AmountsFilterPlugin): without copies of node and state.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/defaultpreemption_victims.h"

namespace berth::preemption {

class AmountsTrial {
 public:
  // To be called before an attempt's dry runs. `state`: the pod's, after PreFilter.
  void begin(const Framework& framework, const CycleState& state, const Pod& pod);
  // Whether the pod's plugins allow it; nodes with nominated pods need select_victims() nevertheless.
  bool is_possible() const { return is_possible_; }
  // As select_victims(), but for an error: then `found` is undefined, and select_victims() words it. No pod is
  // nominated to the node.
  Status select_victims(const NodeInfo& node, const Budgets& budgets, const Pod& pod, Candidate& found);

 private:
  using Entry = PointPlugin<FilterPlugin>;
  Status judge_objects_and_amounts(const NodeInfo& node, const Pod& pod);
  bool fits(const NodeInfo& node);
  void reprieve(const Pods& pods, const NodeInfo& node, Pods& victims);

  bool is_possible_ = false;
  std::vector<const Entry*> asked_;  // the framework's, in its order
  CycleState state_;                 // a clone of the pod's
  AskedAmounts amounts_;
  Resources requested_;  // of the node, without the pods that are taken away
  std::int64_t pods_ = 0;
  Pods lower_;
  Split split_;
};

}  // namespace berth::preemption
