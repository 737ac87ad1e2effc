// How many pods of a PodDisruptionBudget may be disrupted (pkg/controller/disruption/disruption.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/api/disruption_budget.h"
#include "core/controllers/cluster_access.h"
#include "core/status.h"

namespace berth {

inline constexpr std::string_view kDisruptionAllowed = "DisruptionAllowed";
inline constexpr std::string_view kDisruptionTarget = "DisruptionTarget";
// How long an evicted pod counts as disrupted before it is deleted.
inline constexpr Millis kDeletionTimeout = 120'000;

// No selector selects nothing, an empty one all pods of the namespace.
bool selects(const DisruptionBudget& budget, const ControlledPod& pod);
// The pods of the budget's namespace that it selects, ordered by name.
std::vector<ControlledPodPtr> pods_of_budget(const ClusterAccess& cluster, const DisruptionBudget& budget);

struct ExpectedPods {
  std::int32_t expected = 0;         // by the scales of the pods' controllers, or the number of pods
  std::int32_t desired_healthy = 0;  // of them
  bool has_unmanaged = false;        // pods without a controller, which do not count
};
// An error: some controller is gone, or has no scale.
Result<ExpectedPods> expected_pods(const ClusterAccess& cluster, const DisruptionBudget& budget,
                                   const std::vector<ControlledPodPtr>& pods);

// The status by the pods. `disrupted`: those of the evicted ones that still count.
DisruptionStatus disruption_status(const DisruptionBudget& budget, const std::vector<ControlledPodPtr>& pods,
                                   const ExpectedPods& expected, std::map<std::string, std::string> disrupted,
                                   Millis now);
// Sets the condition DisruptionAllowed by disruptionsAllowed and observedGeneration.
void set_disruption_allowed(DisruptionStatus& status, Millis now);
// The status after nothing could be computed: nothing is allowed.
DisruptionStatus failed_disruption_status(const DisruptionBudget& budget, const std::string& error, Millis now);

// When a pod's condition DisruptionTarget has become stale, as the pod is still not being deleted; none: it has none
// that could. Conditions of the kubelet never do.
std::optional<Millis> stale_disruption_at(const ControlledPod& pod);

}  // namespace berth
