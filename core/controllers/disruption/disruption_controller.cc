#include "core/controllers/disruption/disruption_controller.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/api/timestamp.h"
#include "core/controllers/disruption/disruption_rules.h"
#include "core/controllers/status_write.h"

namespace berth {
namespace {

using Disrupted = std::map<std::string, std::string>;

void record(ClusterAccess& cluster, const ControlledObject& about, WorkloadEvent::Type type, std::string reason,
            std::string message) {
  cluster.record(about, {type, std::move(reason), std::move(message)});
}

// The evicted pods that are still to be deleted, and in `next` when the first of them is overdue. One that is overdue
// counts as a pod again, with an event.
Disrupted still_disrupted(ClusterAccess& cluster, const DisruptionBudget& budget,
                          const std::vector<ControlledPodPtr>& pods, std::optional<Millis>& next) {
  Disrupted still;
  for (const ControlledPodPtr& pod : pods) {
    const auto found = budget.status.disrupted_pods.find(pod->metadata.name);
    if (found == budget.status.disrupted_pods.end() || pod->metadata.deletion) continue;
    const Millis overdue = parse_timestamp(found->second).value_or(0) + kDeletionTimeout + 1;
    if (overdue <= cluster.now()) {
      const std::string name_space(budget.metadata.namespace_);
      record(cluster, *pod, WorkloadEvent::Type::warning, "NotDeleted",  // upstream names the namespace twice
             "Pod was expected by PDB " + name_space + "/" + name_space + " to be deleted but it wasn't");
    } else {
      next = std::min(next.value_or(overdue), overdue);
      still.insert(*found);
    }
  }
  return still;
}

// After a failure nothing is allowed. Time alone repairs none: a change of the pods or of the budget wakes it again.
SyncResult fail(ClusterAccess& cluster, const DisruptionBudget& budget, const Status& error) {
  const std::string text = error.message();
  record(cluster, budget, WorkloadEvent::Type::warning, "CalculateExpectedPodCountFailed",
         "Failed to calculate the number of expected pods: " + text);
  const DisruptionStatus status = failed_disruption_status(budget, text, cluster.now());
  return {.status = write_status(cluster, budget, budget.status, status)};
}

}  // namespace

void DisruptionController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == DisruptionBudget::kKind) queue.add(key_of(object));
  if (object.kind != ControlledPod::kKind) return;
  const ControlledPod& pod = static_cast<const ControlledPod&>(object);
  for (const auto& budget : list_as<DisruptionBudget>(cluster, DisruptionBudget::kKind, object.metadata.namespace_)) {
    if (selects(*budget, pod)) queue.add(key_of(*budget));
  }
}

SyncResult DisruptionController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto budget = find_as<DisruptionBudget>(cluster, DisruptionBudget::kKind, key);
  if (budget == nullptr) return {};
  const std::vector<ControlledPodPtr> pods = pods_of_budget(cluster, *budget);
  if (pods.empty()) record(cluster, *budget, WorkloadEvent::Type::normal, "NoPods", "No matching pods found");
  const Result<ExpectedPods> expected = expected_pods(cluster, *budget, pods);
  if (!expected) return fail(cluster, *budget, expected.error());
  if (expected->has_unmanaged) {
    record(cluster, *budget, WorkloadEvent::Type::warning, "UnmanagedPods",
           "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB "
           "cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
           "set \".spec.minAvailable\" field of the PDB to an integer value.");
  }
  SyncResult result;
  Disrupted disrupted = still_disrupted(cluster, *budget, pods, result.wake_at);
  const DisruptionStatus status = disruption_status(*budget, pods, *expected, std::move(disrupted), cluster.now());
  result.status = write_status(cluster, *budget, budget->status, status);
  return result;
}

void StaleDisruptionController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  if (change.after == nullptr || change.after->kind != ControlledPod::kKind) return;
  const auto at = stale_disruption_at(static_cast<const ControlledPod&>(*change.after));
  if (at) queue.add_at(key_of(*change.after), *at, cluster.now());
}

SyncResult StaleDisruptionController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto pod = find_as<ControlledPod>(cluster, ControlledPod::kKind, key);
  const std::optional<Millis> at = pod == nullptr ? std::nullopt : stale_disruption_at(*pod);
  if (!at) return {};
  if (*at > cluster.now()) return {.wake_at = at};
  Conditions conditions = pod->conditions.get();
  Condition target;
  target.type = kDisruptionTarget;
  target.status = "False";
  target.observed_generation = pod->metadata.generation;
  target.last_transition = cluster.now();
  set_condition(conditions, std::move(target));
  Json status = Json::object().set("conditions", to_json(conditions));
  const WriteResult written = cluster.patch_status(*pod, Json::object().set("status", std::move(status)));
  return {.status = written.is_done() ? Status::ok() : Status::error(written.message)};
}

}  // namespace berth
