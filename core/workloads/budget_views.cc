#include "core/workloads/budget_views.h"

#include <memory>
#include <utility>

#include "core/controllers/disruption/disruption_rules.h"

namespace berth {
namespace {

DisruptionBudget as_seen(const PodDisruptionBudget& budget) {
  DisruptionBudget seen;
  static_cast<ObjectMeta&>(seen.metadata) = budget.metadata;
  seen.budget = budget;
  return seen;
}

DisruptionStatus count(const ClusterAccess& cluster, const DisruptionBudget& budget) {
  const std::vector<ControlledPodPtr> pods = pods_of_budget(cluster, budget);
  const Result<ExpectedPods> expected = expected_pods(cluster, budget, pods);
  if (!expected) return failed_disruption_status(budget, expected.error().message(), cluster.now());
  // None is evicted and not yet being deleted: an eviction does both in one turn.
  return disruption_status(budget, pods, *expected, {}, cluster.now());
}

}  // namespace

bool BudgetViews::covers(const Pod& pod) const {
  for (const auto& [key, budget] : context_.objects.all<PodDisruptionBudget>()) {
    const bool is_near = budget->metadata.namespace_ == pod.metadata.namespace_;
    if (is_near && budget->selector && matches(*budget->selector, pod.metadata.labels.get())) return true;
  }
  return false;
}

DisruptionStatus BudgetViews::status_of(const PodDisruptionBudget& budget) const {
  return count(cluster_, as_seen(budget));
}

std::vector<ObjectPtr> BudgetViews::list(std::string_view name_space) const {
  std::vector<ObjectPtr> found;
  for (const auto& [key, budget] : context_.objects.all<PodDisruptionBudget>()) {
    if (!name_space.empty() && budget->metadata.namespace_ != name_space) continue;
    auto seen = std::make_shared<DisruptionBudget>(as_seen(*budget));
    seen->status = count(cluster_, *seen);
    found.push_back(std::move(seen));
  }
  return found;
}

}  // namespace berth
