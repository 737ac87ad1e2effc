#include "core/controllers/deployment/deployment_status.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kNewReplicaSetAvailable = "NewReplicaSetAvailable";
constexpr std::string_view kProgressDeadlineExceeded = "ProgressDeadlineExceeded";

const Condition* progress_of(const DeploymentStatus& status) { return find_condition(status.conditions, kProgressing); }

bool is_progressing(const DeploymentStatus& before, const DeploymentStatus& after) {
  return after.updated_replicas > before.updated_replicas ||
         after.replicas - after.updated_replicas < before.replicas - before.updated_replicas ||
         after.ready_replicas > before.ready_replicas || after.available_replicas > before.available_replicas;
}

// A rollout plan may hold a wave back for days, which is no lack of progress.
bool is_held_by_plan(const Deployment& deployment) {
  using Phase = RolloutStatus::Phase;
  const std::optional<RolloutStatus>& rollout = deployment.status.rollout;
  return rollout && rollout->phase != Phase::complete && rollout->phase != Phase::rolled_back;
}

bool is_timed_out(const Deployment& deployment, const DeploymentStatus& status, Millis now) {
  const Condition* progress = progress_of(status);
  if (progress == nullptr || progress->reason == kNewReplicaSetAvailable || is_held_by_plan(deployment)) return false;
  if (progress->reason == kProgressDeadlineExceeded) return true;
  return progress->last_update.value_or(0) + Millis{1000} * *deployment.spec.progress_deadline_seconds < now;
}

void estimate_progress(const Deployment& deployment, const ReplicaSetPtr& newest, DeploymentStatus& status,
                       Millis now) {
  const std::string who = newest != nullptr ? "ReplicaSet \"" + newest->metadata.name + "\""
                                            : "Deployment \"" + deployment.metadata.name + "\"";
  if (is_complete(deployment, status)) {
    set_deployment_condition(status, kProgressing, "True", kNewReplicaSetAvailable,
                             who + " has successfully progressed.", now);
  } else if (is_progressing(deployment.status, status)) {
    // Progress for the same reason as before is news as well: the deadline counts from it.
    const Condition* before = progress_of(deployment.status);
    const OptionalTime since = before != nullptr && before->status == "True" ? before->last_transition : OptionalTime();
    remove_condition(status.conditions, kProgressing);
    set_deployment_condition(status, kProgressing, "True", "ReplicaSetUpdated", who + " is progressing.", now);
    if (since) status.conditions.back().last_transition = since;
  } else if (is_timed_out(deployment, status, now)) {
    set_deployment_condition(status, kProgressing, "False", kProgressDeadlineExceeded,
                             who + " has timed out progressing.", now);
  }
}

// The failure of the new ReplicaSet, else of the first of the others that has one; null: none has.
const Condition* failure_of(const ReplicaSets& sets) {
  if (sets.newest != nullptr) {
    if (const Condition* found = find_condition(sets.newest->status.conditions, kReplicaFailure)) return found;
  }
  for (const ReplicaSetPtr& set : sets.old) {
    if (const Condition* found = find_condition(set->status.conditions, kReplicaFailure)) return found;
  }
  return nullptr;
}

void take_failure(const ReplicaSets& sets, DeploymentStatus& status) {
  const Condition* failure = failure_of(sets);
  if (failure == nullptr) {
    remove_condition(status.conditions, kReplicaFailure);
    return;
  }
  const Condition* before = find_condition(status.conditions, kReplicaFailure);
  if (before != nullptr && before->status == failure->status && before->reason == failure->reason) return;
  Condition taken = *failure;
  taken.last_update = failure->last_transition;
  if (before != nullptr && before->status == failure->status) taken.last_transition = before->last_transition;
  set_condition(status.conditions, std::move(taken));
}

}  // namespace

bool has_progress_deadline(const Deployment& deployment) {
  const std::optional<std::int32_t>& seconds = deployment.spec.progress_deadline_seconds;
  return seconds && *seconds != std::numeric_limits<std::int32_t>::max();
}

void set_deployment_condition(DeploymentStatus& status, std::string_view type, std::string_view value,
                              std::string_view reason, std::string message, Millis now) {
  const Condition* before = find_condition(status.conditions, type);
  if (before != nullptr && before->status == value && before->reason == reason) return;
  Condition condition;
  condition.type = type;
  condition.status = value;
  condition.reason = reason;
  condition.message = std::move(message);
  condition.last_update = now;
  condition.last_transition =
      before != nullptr && before->status == value ? before->last_transition : OptionalTime(now);
  set_condition(status.conditions, std::move(condition));
}

DeploymentStatus counted_status(const Deployment& deployment, const ReplicaSets& sets, Millis now) {
  const std::vector<ReplicaSetPtr> all = sets.all();
  DeploymentStatus status;
  status.conditions = deployment.status.conditions;
  status.collision_count = deployment.status.collision_count;
  status.rollout = deployment.status.rollout;
  status.observed_generation = deployment.metadata.generation;
  status.replicas = actual_replicas(all);
  status.updated_replicas = sets.newest != nullptr ? sets.newest->status.replicas : 0;
  status.available_replicas = available_replicas(all);
  status.unavailable_replicas = std::max(wanted_replicas(all) - status.available_replicas, 0);
  status.terminating_replicas = 0;
  for (const ReplicaSetPtr& set : all) {
    status.ready_replicas += set->status.ready_replicas;
    *status.terminating_replicas += set->status.terminating_replicas.value_or(0);
  }
  if (status.available_replicas >= deployment.spec.replicas - max_unavailable(deployment)) {
    set_deployment_condition(status, "Available", "True", "MinimumReplicasAvailable",
                             "Deployment has minimum availability.", now);
  } else {
    set_deployment_condition(status, "Available", "False", "MinimumReplicasUnavailable",
                             "Deployment does not have minimum availability.", now);
  }
  return status;
}

bool is_complete(const Deployment& deployment, const DeploymentStatus& status) {
  const std::int32_t wanted = deployment.spec.replicas;
  return status.updated_replicas == wanted && status.replicas == wanted && status.available_replicas == wanted &&
         status.observed_generation >= deployment.metadata.generation;
}

DeploymentStatus rollout_status(const Deployment& deployment, const ReplicaSets& sets, Millis now) {
  DeploymentStatus status = counted_status(deployment, sets, now);
  if (has_progress_deadline(deployment)) {
    const Condition* progress = progress_of(deployment.status);
    const bool was_complete = progress != nullptr && progress->reason == kNewReplicaSetAvailable &&
                              status.replicas == status.updated_replicas;
    if (!was_complete) estimate_progress(deployment, sets.newest, status, now);
  } else {
    remove_condition(status.conditions, kProgressing);
  }
  take_failure(sets, status);
  return status;
}

std::optional<Millis> next_progress_check(const Deployment& deployment, const DeploymentStatus& status) {
  const Condition* progress = progress_of(deployment.status);
  if (!has_progress_deadline(deployment) || progress == nullptr || is_held_by_plan(deployment)) return std::nullopt;
  if (is_complete(deployment, status) || progress->reason == kProgressDeadlineExceeded) return std::nullopt;
  return progress->last_update.value_or(0) + Millis{1000} * *deployment.spec.progress_deadline_seconds;
}

}  // namespace berth
