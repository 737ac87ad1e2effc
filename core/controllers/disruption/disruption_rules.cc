#include "core/controllers/disruption/disruption_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/api/deployment.h"
#include "core/api/timestamp.h"
#include "core/controllers/percent.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

using Pods = std::vector<ControlledPodPtr>;

// The controller whose scale counts for the pod: of a Deployment's ReplicaSet, the Deployment.
std::optional<OwnerReference> scaled_owner(const ClusterAccess& cluster, const ControlledPod& pod) {
  const OwnerReference* owner = controller_of(pod.metadata);
  if (owner == nullptr) return std::nullopt;
  const ObjectPtr set = find_controller("ReplicaSet", pod, cluster);
  const OwnerReference* above = set == nullptr ? nullptr : controller_of(set->metadata);
  return above != nullptr && above->kind == Deployment::kKind ? *above : *owner;
}

// The sum of the scales of the pods' controllers.
Status add_scales(const ClusterAccess& cluster, const Pods& pods, ExpectedPods& out) {
  std::map<std::string, std::int32_t> scales;
  for (const ControlledPodPtr& pod : pods) {
    const std::optional<OwnerReference> owner = scaled_owner(cluster, *pod);
    if (!owner) {
      out.has_unmanaged = true;
      continue;
    }
    if (scales.contains(std::string(owner->uid))) continue;
    const Result<std::optional<Scale>> scale = cluster.scale_of(*owner, pod->metadata.namespace_);
    if (!scale) return scale.error();
    if (!scale->has_value() || (*scale)->uid != std::string_view(owner->uid)) {
      return Status::error("found no controllers for pod \"" + pod->metadata.name + "\"");
    }
    scales.emplace(owner->uid, (*scale)->replicas);
  }
  for (const auto& [uid, replicas] : scales) out.expected += replicas;
  return Status::ok();
}

void set_allowed_condition(DisruptionStatus& status, bool allowed, std::string reason, std::string message,
                           Millis now) {
  const Condition* before = find_condition(status.conditions, kDisruptionAllowed);
  Condition condition;
  condition.type = kDisruptionAllowed;
  condition.status = allowed ? "True" : "False";
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  condition.observed_generation = status.observed_generation;
  condition.last_transition =
      before != nullptr && before->status == condition.status ? before->last_transition : OptionalTime(now);
  set_condition(status.conditions, std::move(condition));
}

}  // namespace

bool selects(const DisruptionBudget& budget, const ControlledPod& pod) {
  const std::optional<LabelSelector>& selector = budget.budget.selector;
  return selector && budget.metadata.namespace_ == pod.metadata.namespace_ &&
         matches(*selector, pod.metadata.labels.get());
}

Pods pods_of_budget(const ClusterAccess& cluster, const DisruptionBudget& budget) {
  Pods pods = list_as<ControlledPod>(cluster, ControlledPod::kKind, budget.metadata.namespace_);
  std::erase_if(pods, [&budget](const ControlledPodPtr& pod) { return !selects(budget, *pod); });
  return pods;
}

Result<ExpectedPods> expected_pods(const ClusterAccess& cluster, const DisruptionBudget& budget, const Pods& pods) {
  const std::optional<IntOrPercent>& most = budget.budget.max_unavailable;
  const std::optional<IntOrPercent>& least = budget.budget.min_available;
  ExpectedPods out;
  if (!most && !least) return out;
  if (!most && !least->percent) {
    out.expected = static_cast<std::int32_t>(pods.size());
    out.desired_healthy = least->value;
    return out;
  }
  if (Status added = add_scales(cluster, pods, out); !added.is_success()) return added;
  out.desired_healthy =
      most ? std::max(out.expected - scaled_up(most, out.expected), 0) : scaled_up(least, out.expected);
  return out;
}

DisruptionStatus disruption_status(const DisruptionBudget& budget, const Pods& pods, const ExpectedPods& expected,
                                   std::map<std::string, std::string> disrupted, Millis now) {
  DisruptionStatus status;
  status.observed_generation = budget.metadata.generation;
  status.expected_pods = expected.expected;
  status.desired_healthy = expected.desired_healthy;
  status.current_healthy = static_cast<std::int32_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& pod) {
    return pod->ready && !pod->metadata.deletion && !disrupted.contains(pod->metadata.name);
  }));
  if (status.expected_pods > 0) {
    status.disruptions_allowed = std::max(status.current_healthy - status.desired_healthy, 0);
  }
  status.disrupted_pods = std::move(disrupted);
  status.conditions = budget.status.conditions;
  set_disruption_allowed(status, now);
  return status;
}

void set_disruption_allowed(DisruptionStatus& status, Millis now) {
  const bool allowed = status.disruptions_allowed > 0;
  set_allowed_condition(status, allowed, allowed ? "SufficientPods" : "InsufficientPods", "", now);
}

DisruptionStatus failed_disruption_status(const DisruptionBudget& budget, const std::string& error, Millis now) {
  DisruptionStatus status = budget.status;
  status.disruptions_allowed = 0;
  set_allowed_condition(status, false, "SyncFailed", error, now);
  return status;
}

std::optional<Millis> stale_disruption_at(const ControlledPod& pod) {
  if (pod.metadata.deletion || is_finished(pod)) return std::nullopt;
  const Condition* target = find_condition(pod.conditions.get(), kDisruptionTarget);
  if (target == nullptr || target->status != "True" || target->reason == "TerminationByKubelet") return std::nullopt;
  return target->last_transition.value_or(0) + kDeletionTimeout;
}

}  // namespace berth
