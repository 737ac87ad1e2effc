#include "core/controllers/replica_set/replica_set_rules.h"

#include <algorithm>
#include <utility>

#include "core/controllers/pod_control.h"
#include "core/controllers/replica_set/replica_set_victims.h"

namespace berth {
namespace {

// How many pods are too many; below zero: missing.
std::int64_t surplus(const ReplicaSet& set, const ReplicaSetPods& pods) {
  return static_cast<std::int64_t>(pods.active.size()) - set.spec.replicas;
}

bool has_template_labels(const ControlledPod& pod, const Labels& labels) {
  const Labels& own = pod.metadata.labels.get();
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto found = own.find(label.first);
    return found != own.end() && found->second == label.second;
  });
}

void set_failure(ReplicaSetStatus& status, const Status& managed, std::int64_t too_many, Millis now) {
  if (managed.is_success()) {
    remove_condition(status.conditions, kReplicaFailure);
  } else if (find_condition(status.conditions, kReplicaFailure) == nullptr) {
    Condition failure;
    failure.type = kReplicaFailure;
    failure.status = "True";
    failure.reason = too_many < 0 ? "FailedCreate" : "FailedDelete";
    failure.message = managed.message();
    failure.last_transition = now;
    set_condition(status.conditions, std::move(failure));
  }
}

}  // namespace

Status manage_replicas(ClusterAccess& cluster, const ReplicaSet& set, const ReplicaSetPods& pods, int burst) {
  const std::int64_t too_many = surplus(set, pods);
  if (too_many < 0) {
    const std::string_view api_version = set.kind == kReplicationController ? "v1" : ReplicaSet::kApiVersion;
    const Json pod = pod_from_template(set.spec.pod_template, set, api_version);
    const int count = static_cast<int>(std::min<std::int64_t>(-too_many, burst));
    return slow_start(count, [&] { return create_pod(cluster, set, pod); });
  }
  Status first;
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(too_many, burst));
  if (count == 0) return first;
  for (const ControlledPodPtr& pod : victims(pods.active, pods.related, count, cluster.now())) {
    Status status = delete_pod(cluster, set, *pod);
    if (first.is_success()) first = std::move(status);
  }
  return first;
}

ReplicaSetStatus replica_set_status(const ReplicaSet& set, const ReplicaSetPods& pods, const Status& managed,
                                    Millis now) {
  ReplicaSetStatus status;
  status.conditions = set.status.conditions;
  status.observed_generation = set.metadata.generation;
  status.replicas = static_cast<std::int32_t>(pods.active.size());
  status.terminating_replicas = pods.terminating;
  const Labels* labels = nullptr;  // of the pod before: most share theirs
  bool is_fully_labeled = false;
  for (const ControlledPodPtr& pod : pods.active) {
    if (const Labels* own = &pod->metadata.labels.get(); own != labels) {
      labels = own;
      is_fully_labeled = has_template_labels(*pod, set.spec.pod_template.labels.get());
    }
    if (is_fully_labeled) ++status.fully_labeled_replicas;
    if (pod->ready) ++status.ready_replicas;
    if (is_available(*pod, set.spec.min_ready_seconds, now)) ++status.available_replicas;
  }
  set_failure(status, managed, surplus(set, pods), now);
  return status;
}

}  // namespace berth
