#include "core/objects/disruption.h"

#include <algorithm>

namespace berth {

namespace {

std::int32_t scaled(const IntOrPercent& bound, std::int32_t of) {
  if (!bound.percent) return bound.value;
  return static_cast<std::int32_t>((std::int64_t{bound.value} * of + 99) / 100);
}

bool covers(const PodDisruptionBudget& budget, const Pod& pod) {
  return budget.selector && pod.metadata.namespace_ == budget.metadata.namespace_ &&
         matches(*budget.selector, pod.metadata.labels);
}

}  // namespace

Disruption count_disruption(const PodDisruptionBudget& budget, const std::vector<BudgetedPod>& pods) {
  Disruption count;
  for (const BudgetedPod& each : pods) {
    if (!covers(budget, *each.pod)) continue;
    ++count.expected_pods;
    if (each.healthy) ++count.current_healthy;
  }
  if (budget.max_unavailable) {
    count.desired_healthy = std::max(0, count.expected_pods - scaled(*budget.max_unavailable, count.expected_pods));
  } else if (budget.min_available) {
    count.desired_healthy = scaled(*budget.min_available, count.expected_pods);
  }
  const bool bounded = budget.max_unavailable || budget.min_available;
  if (bounded && count.expected_pods > 0) count.allowed = std::max(0, count.current_healthy - count.desired_healthy);
  return count;
}

}  // namespace berth
