// VerdictMemory: what plugins said of each node for pods of one class, so that only nodes that changed since are asked
// about again. A class: pods of one profile with equal namespace, labels and spec.
//
// A verdict holds as long as the node's generation stands, for plugins that declare what they read (Reads). Filter
// plugins from the first undeclared one on, and undeclared Score plugins, run on every node every time. Answers, their
// order and the equal totals offered to the choice are those of schedule_pod() without a memory.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/framework.h"

namespace berth {

// Equal in all that a verdict about a pod may depend on, but for who the pod is.
bool is_same_class(const Pod& a, const Pod& b);

// One class. The functions are called in this order, for each pod of the class. An error means that nothing can be
// remembered: ask the plugins themselves, which tells it as it should be told.
class ClassVerdicts {
 public:
  ClassVerdicts(const Framework& framework, const Pod& pod);
  bool is_of(const Framework& framework, const Pod& pod) const;

  // After PreFilter: Filter over all nodes, beginning with the one at `start`.
  Status filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, std::size_t start);
  const std::vector<std::shared_ptr<const NodeInfo>>& feasible() const { return feasible_; }
  // Null: the node is feasible. By place in the snapshot.
  const std::shared_ptr<const Status>& rejection(std::size_t node) const {
    return late_[node] != nullptr ? late_[node] : rejected_[node];
  }
  // After PreScore: Score over the feasible nodes.
  Status score(CycleState& state, const Pod& pod);
  const std::vector<NodeScore>& totals() const { return totals_; }

 private:
  void follow(const Snapshot& snapshot);
  void remap(const Snapshot& snapshot);
  void list_feasible(const Snapshot& snapshot, std::size_t start);
  Status score_changed(CycleState& state, const Pod& pod);
  Status add_up(CycleState& state, const Pod& pod, std::size_t plugin);

  const Framework& framework_;
  Pod pod_;  // the first of the class
  std::set<std::string, std::less<>> skip_filter_;
  std::set<std::string, std::less<>> skip_score_;
  std::int64_t structure_ = -1;
  std::int64_t images_changed_ = -1;
  // By column, in the snapshot's order.
  std::vector<std::int64_t> current_;                    // generations now
  std::vector<std::int64_t> filtered_;                   // generation at which rejected_ holds; -1: it does not
  std::vector<std::shared_ptr<const Status>> rejected_;  // by declared plugins
  std::vector<std::shared_ptr<const Status>> late_;      // by the others, for the present pod
  std::vector<std::int64_t> scored_;                     // generation at which raw_ holds
  std::vector<std::vector<std::int64_t>> raw_;           // by Score plugin; declared ones only
  // In the order of evaluation.
  std::vector<std::size_t> order_;  // places in the snapshot
  std::vector<std::shared_ptr<const NodeInfo>> feasible_;
  std::vector<NodeScore> totals_;
  std::vector<NodeScore> scratch_;
};

// The classes used last, at most kClasses. The same snapshot always.
class VerdictMemory {
 public:
  static constexpr std::size_t kClasses = 8;
  ClassVerdicts& of(const Framework& framework, const Pod& pod);
  void forget(const ClassVerdicts& verdicts);

 private:
  std::vector<std::unique_ptr<ClassVerdicts>> classes_;  // the one used last in front
};

}  // namespace berth
