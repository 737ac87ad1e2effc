#include "core/controllers/disruption/eviction.h"

#include <optional>
#include <string>
#include <utility>

#include "core/api/timestamp.h"
#include "core/controllers/disruption/disruption_rules.h"
#include "core/controllers/pod_condition.h"
#include "core/controllers/status_write.h"

namespace berth {
namespace {

using BudgetPtr = std::shared_ptr<const DisruptionBudget>;

EvictionAnswer too_many_requests(std::string cause) {
  return {429, "Cannot evict pod as it would violate the pod's disruption budget.", {std::move(cause)}};
}

EvictionAnswer answer_to(const WriteResult& written) {
  return written.is_done() ? EvictionAnswer{} : EvictionAnswer{500, written.message, {}};
}

// Why a budget without disruptions left refuses.
std::string why_not(const DisruptionBudget& budget) {
  const DisruptionStatus& status = budget.status;
  const std::string who = "The disruption budget " + budget.metadata.name;
  const Condition* allowed = find_condition(status.conditions, kDisruptionAllowed);
  if (allowed != nullptr && allowed->status == "False" && allowed->reason == "SyncFailed") {
    return who + " does not allow evicting pods currently because it failed sync: " + allowed->message;
  }
  if (status.current_healthy > status.desired_healthy) return who + " does not allow evicting pods currently";
  return who + " needs " + std::to_string(status.desired_healthy) + " healthy pods and has " +
         std::to_string(status.current_healthy) + " currently";
}

// Takes one disruption off the budget. None: it allows it.
std::optional<EvictionAnswer> refuse_or_decrement(ClusterAccess& cluster, const DisruptionBudget& budget,
                                                  const ControlledPod& pod) {
  if (budget.status.observed_generation < budget.metadata.generation) {
    return too_many_requests("The disruption budget " + budget.metadata.name +
                             " is still being processed by the server.");
  }
  if (budget.status.disruptions_allowed < 0) {
    return EvictionAnswer{
        403,
        "poddisruptionbudget.policy \"" + budget.metadata.name + "\" is forbidden: pdb disruptions allowed is negative",
        {}};
  }
  if (budget.status.disruptions_allowed == 0) return too_many_requests(why_not(budget));
  DisruptionStatus status = budget.status;
  if (--status.disruptions_allowed == 0) set_disruption_allowed(status, cluster.now());
  status.disrupted_pods[pod.metadata.name] = to_timestamp(cluster.now());
  const Status written = write_status(cluster, budget, budget.status, status);
  if (!written.is_success()) return EvictionAnswer{500, written.message(), {}};
  return std::nullopt;
}

// Whether the pod may go although it would count as a disruption if it were healthy.
bool may_go_unhealthy(const DisruptionBudget& budget, const ControlledPod& pod) {
  if (pod.ready) return false;
  const DisruptionStatus& status = budget.status;
  return budget.budget.always_allow || (status.desired_healthy > 0 && status.current_healthy >= status.desired_healthy);
}

EvictionAnswer mark_and_delete(ClusterAccess& cluster, const ControlledPod& pod) {
  Conditions conditions = pod.conditions.get();
  Condition target;
  target.type = kDisruptionTarget;
  target.status = "True";
  target.reason = "EvictionByEvictionAPI";
  target.message = "Eviction API: evicting";
  target.last_transition = cluster.now();
  update_pod_condition(conditions, std::move(target));
  const Json status = Json::object().set("conditions", to_json(conditions));
  const WriteResult marked = cluster.patch_status(pod, Json::object().set("status", status));
  return marked.is_done() ? answer_to(cluster.remove(pod, {})) : answer_to(marked);
}

}  // namespace

EvictionAnswer evict(ClusterAccess& cluster, const ObjectKey& key) {
  const auto pod = find_as<ControlledPod>(cluster, ControlledPod::kKind, key);
  if (pod == nullptr) return {404, "pods \"" + key.name + "\" not found", {}};
  if (pod->phase == PodPhase::pending || !is_active(*pod)) return mark_and_delete(cluster, *pod);
  std::vector<BudgetPtr> budgets = list_as<DisruptionBudget>(cluster, DisruptionBudget::kKind, key.name_space);
  std::erase_if(budgets, [&pod](const BudgetPtr& budget) { return !selects(*budget, *pod); });
  if (budgets.size() > 1) {
    return {
        500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", {}};
  }
  if (!budgets.empty() && !may_go_unhealthy(*budgets.front(), *pod)) {
    if (const auto refused = refuse_or_decrement(cluster, *budgets.front(), *pod)) return *refused;
  }
  return mark_and_delete(cluster, *pod);
}

}  // namespace berth
