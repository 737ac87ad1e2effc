// BudgetViews: PodDisruptionBudgets as controllers and evictions see them. The product has one count of them, by the
// rule of the disruption controller, and keeps none: it is counted when it is asked for, from the pods as they are now.
#pragma once

#include <string_view>
#include <vector>

#include "core/api/disruption_budget.h"
#include "core/controllers/cluster_access.h"
#include "core/placement/context.h"

namespace berth {

class BudgetViews {
 public:
  // Both outlive it. `cluster`: the pods that are covered, and the scales of their controllers.
  BudgetViews(const PlacementContext& context, const ClusterAccess& cluster) : context_(context), cluster_(cluster) {}

  // Whether a budget selects the pod.
  bool covers(const Pod& pod) const;
  DisruptionStatus status_of(const PodDisruptionBudget& budget) const;
  // Ordered by key; an empty namespace: all of them.
  std::vector<ObjectPtr> list(std::string_view name_space) const;

 private:
  const PlacementContext& context_;
  const ClusterAccess& cluster_;
};

}  // namespace berth
