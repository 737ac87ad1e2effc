// The synchronisation of a Deployment (pkg/controller/deployment/deployment_controller.go).
#include "core/controllers/deployment/deployment_controller.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/controllers/controlled_node.h"
#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/deployment/deployment_new_set.h"
#include "core/controllers/deployment/deployment_rollback.h"
#include "core/controllers/deployment/deployment_rollout.h"
#include "core/controllers/deployment/deployment_scale.h"
#include "core/controllers/deployment/deployment_status.h"
#include "core/controllers/deployment/deployment_waves.h"
#include "core/controllers/deployment/deployment_work.h"
#include "core/controllers/ownership.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

constexpr std::string_view kPaused = "DeploymentPaused";
constexpr Millis kSecond = 1000;

bool selects_set(const ControlledObject& owner, const ControlledObject& set) {
  const LabelSelector& selector = static_cast<const Deployment&>(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, set.metadata.labels.get());
}

// The condition Progressing tells a pause and its end; one that says that the deadline was exceeded stays.
bool tell_pause(DeploymentWork& work) {
  const Deployment& deployment = work.deployment;
  if (!has_progress_deadline(deployment)) return true;
  const Condition* progress = find_condition(deployment.status.conditions, kProgressing);
  if (progress != nullptr && progress->reason == "ProgressDeadlineExceeded") return true;
  const bool is_told = progress != nullptr && progress->reason == kPaused;
  if (deployment.spec.paused == is_told) return true;
  set_deployment_condition(work.deployment.status, kProgressing, "Unknown", is_told ? "DeploymentResumed" : kPaused,
                           is_told ? "Deployment is resumed" : "Deployment is paused", work.cluster.now());
  return write_deployment_status(work);
}

void finish(DeploymentWork& work) {
  work.deployment.status = counted_status(work.deployment, work.sets, work.cluster.now());
  write_deployment_status(work);
}

void finish_rollout(DeploymentWork& work) {
  const Millis now = work.cluster.now();
  DeploymentStatus status = rollout_status(work.deployment, work.sets, now);
  if (status == work.written_status) {
    const std::optional<Millis> check = next_progress_check(work.deployment, status);
    // Less than a second away counts as now, and a second more is for clocks that differ.
    if (check && *check - now < kSecond) work.result.retry = true;
    if (check && *check - now >= kSecond) work.result.wake_at = *check + kSecond;
    return;
  }
  work.deployment.status = std::move(status);
  write_deployment_status(work);
}

void sync_size(DeploymentWork& work) {
  if (!scale_sets(work)) return;
  const bool rolls_back = rollback_revision(work.deployment).has_value();
  if (work.deployment.spec.paused && !rolls_back && !delete_surplus_sets(work)) return;
  finish(work);
}

void sync_work(DeploymentWork& work, const TimeZoneFiles& zones) {
  const Deployment& deployment = work.deployment;
  if (deployment.metadata.deletion) {
    if (update_new_set(work)) finish(work);
    return;
  }
  if (!follow_waves(work, zones) || !tell_pause(work) || !update_new_set(work)) return;
  const std::optional<std::int64_t> revision = rollback_revision(deployment);
  if (revision && !deployment.spec.paused) {
    roll_back(work, *revision);
  } else if (deployment.spec.paused || is_scaling_event(work)) {
    sync_size(work);
  } else if (deployment.spec.recreate ? recreate_one_step(work) : roll_one_step(work)) {
    finish_rollout(work);
  }
}

// Only rollout plans ask whether nodes answer.
void wake_by_silence(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const auto silence = [](const ObjectPtr& node) {
    return node == nullptr ? OptionalTime() : static_cast<const ControlledNode&>(*node).silent_since;
  };
  if (silence(change.before) == silence(change.after)) return;
  for (const auto& deployment : list_as<Deployment>(cluster, Deployment::kKind, "")) {
    if (deployment->rollout.plan) queue.add(key_of(*deployment));
  }
}

SyncResult refuse_to_select_all(ClusterAccess& cluster, const Deployment& deployment) {
  cluster.record(deployment, {WorkloadEvent::Type::warning, "SelectingAll",
                              "This deployment is selecting all pods. A non-empty selector is required."});
  DeploymentWork work{cluster, deployment, deployment.status, {}};
  work.deployment.status.observed_generation = deployment.metadata.generation;
  write_deployment_status(work);
  return work.result;
}

}  // namespace

void DeploymentController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == Deployment::kKind) {
    queue.add(key_of(object));
  } else if (object.kind == ReplicaSet::kKind) {
    wake_owners(Deployment::kKind, change, cluster, queue, selects_set);
  } else if (object.kind == ControlledNode::kKind) {
    wake_by_silence(change, cluster, queue);
  } else if (object.kind == ControlledPod::kKind && change.after == nullptr) {
    // With Recreate, the new pods wait for the last of the old ones.
    const ObjectPtr set = find_controller(ReplicaSet::kKind, object, cluster);
    const ObjectPtr owner = set == nullptr ? nullptr : find_controller(Deployment::kKind, *set, cluster);
    if (owner != nullptr && static_cast<const Deployment&>(*owner).spec.recreate) queue.add(key_of(*owner));
  }
}

SyncResult DeploymentController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto deployment = find_as<Deployment>(cluster, Deployment::kKind, key);
  if (deployment == nullptr) return {};
  const LabelSelector& selector = deployment->spec.selector;
  if (selector.requirements.empty()) return refuse_to_select_all(cluster, *deployment);
  Claim claim(cluster, *deployment, Deployment::kApiVersion, selector);
  std::vector<ReplicaSetPtr> owned = claim.take_all(list_as<ReplicaSet>(cluster, ReplicaSet::kKind, key.name_space));
  if (!claim.status().is_success()) return {.status = claim.status()};
  DeploymentWork work{cluster, *deployment, deployment->status, split_sets(*deployment, std::move(owned))};
  sync_work(work, zones_);
  std::optional<Millis>& wake_at = work.result.wake_at;
  if (work.next_look) wake_at = std::min(wake_at.value_or(*work.next_look), *work.next_look);
  return work.result;
}

}  // namespace berth
