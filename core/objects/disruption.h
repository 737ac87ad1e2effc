// How many pods of a budget may be disrupted now (kube-controller-manager pkg/controller/disruption/disruption.go).
// No controllers stand behind pods here: as many are expected as the gateway knows of that have not finished.
#pragma once

#include <vector>

#include "core/api/pod.h"
#include "core/api/policy.h"

namespace berth {

// A pod that has not finished. Healthy: it runs where it was placed and is not being deleted.
struct BudgetedPod {
  const Pod* pod = nullptr;
  bool healthy = false;
};

// PodDisruptionBudgetStatus.
struct Disruption {
  std::int32_t expected_pods = 0;
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t allowed = 0;
};

// Percentages are of the expected pods and rounded up, those of maxUnavailable too. A budget without a bound, or whose
// pods are not known yet, allows nothing, as upstream.
Disruption count_disruption(const PodDisruptionBudget& budget, const std::vector<BudgetedPod>& pods);

}  // namespace berth
