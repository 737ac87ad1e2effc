#include "core/controllers/job/job_controller.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_sync.h"
#include "core/controllers/ownership.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

constexpr Millis kGathering = 1000;  // SyncJobBatchPeriod
// Keys of pods that may have lost their Job; no Job's name has a slash.
constexpr std::string_view kStrayPod = "pod/";

const Job& as_job(const ControlledObject& object) { return static_cast<const Job&>(object); }

bool selects_pod_of_job(const ControlledObject& owner, const ControlledObject& pod) {
  const LabelSelector& selector = as_job(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, pod.metadata.labels.get());
}

bool is_managed_elsewhere(const Job& job) {
  return !job.spec.managed_by.empty() && job.spec.managed_by != "kubernetes.io/job-controller";
}

void queue_stray(const ControlledPod& pod, WorkQueue& queue) {
  queue.add({std::string(pod.metadata.namespace_), std::string(kStrayPod) + pod.metadata.name});
}

// Whether no synchronisation of a Job will remove the pod's finalizer.
bool may_be_stray(const ControlledPod& pod, const ClusterAccess& cluster) {
  if (!is_tracked(pod)) return false;
  if (controller_of(pod.metadata) == nullptr) return true;
  if (!pod.metadata.deletion) return false;
  const ObjectPtr job = find_controller(Job::kKind, pod, cluster);
  return job == nullptr || finished_condition(as_job(*job)) != nullptr;
}

// Removes the finalizer of a pod without a Job that is going to do so (handleSingleOrphanPod).
Status release_stray(const ObjectKey& key, ClusterAccess& cluster) {
  const auto pod =
      find_as<ControlledPod>(cluster, ControlledPod::kKind, {key.name_space, key.name.substr(kStrayPod.size())});
  if (pod == nullptr || !is_tracked(*pod)) return Status::ok();
  if (const OwnerReference* controller = controller_of(pod->metadata)) {
    if (controller->kind != Job::kKind || controller->api_version != Job::kApiVersion) return Status::ok();
    const ObjectPtr job = find_controller(Job::kKind, *pod, cluster);
    if (job != nullptr && (is_managed_elsewhere(as_job(*job)) || finished_condition(as_job(*job)) == nullptr)) {
      return Status::ok();
    }
  }
  return remove_tracking(cluster, *pod);
}

void observe_pod(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  WorkQueue woken;
  wake_owners(Job::kKind, change, cluster, woken, selects_pod_of_job);
  while (const std::optional<ObjectKey> key = woken.take())
    queue.add_at(*key, cluster.now() + kGathering, cluster.now());
  if (change.after == nullptr) return;
  const auto& pod = static_cast<const ControlledPod&>(*change.after);
  if (may_be_stray(pod, cluster)) queue_stray(pod, queue);
}

void observe_job(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const Job& job = as_job(change.after != nullptr ? *change.after : *change.before);
  const bool is_gone = change.after == nullptr;
  const bool is_new = change.before == nullptr;
  if (is_gone || (!is_new && finished_condition(job) != nullptr)) {
    for (const auto& pod : list_as<ControlledPod>(cluster, ControlledPod::kKind, job.metadata.namespace_)) {
      if (is_tracked(*pod) && matches(job.spec.selector, pod->metadata.labels.get())) queue_stray(*pod, queue);
    }
    if (!is_gone) return;
  }
  const bool is_gathered = !is_gone && !is_new && change.before->metadata.generation == job.metadata.generation;
  queue.add_at(key_of(job), cluster.now() + (is_gathered ? kGathering : 0), cluster.now());
}

// Its pods, after others were adopted or released.
std::vector<ControlledPodPtr> adopt_and_release(const Job& job, ClusterAccess& cluster, Status& fault) {
  std::vector<ControlledPodPtr> found = cluster.pods_of(job.metadata.namespace_, job.metadata.uid);
  const std::vector<ControlledPodPtr> orphans = cluster.pods_of(job.metadata.namespace_, "");
  found.insert(found.end(), orphans.begin(), orphans.end());
  Claim claim(cluster, job, Job::kApiVersion, job.spec.selector, kTrackingFinalizer);
  std::vector<ControlledPodPtr> mine;
  for (const ControlledPodPtr& pod : found) {
    if (!claim.take(*pod)) continue;
    const bool is_adopted = pod->metadata.controller_uid != job.metadata.uid;
    // With its finalizer.
    const ControlledPodPtr pod_now = is_adopted ? find_as<ControlledPod>(cluster, pod->kind, key_of(*pod)) : pod;
    if (pod_now != nullptr) mine.push_back(pod_now);
  }
  fault = claim.status();
  return mine;
}

}  // namespace

void JobController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const std::string_view kind = change.after != nullptr ? change.after->kind : change.before->kind;
  if (kind == Job::kKind) observe_job(change, cluster, queue);
  if (kind == ControlledPod::kKind) observe_pod(change, cluster, queue);
}

SyncResult JobController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  if (key.name.starts_with(kStrayPod)) return {.status = release_stray(key, cluster)};
  return sync_job(key, cluster);
}

SyncResult JobController::sync_job(const ObjectKey& key, ClusterAccess& cluster) {
  const auto job = find_as<Job>(cluster, Job::kKind, key);
  if (job == nullptr || finished_condition(*job) != nullptr || is_managed_elsewhere(*job)) {
    backoffs_.erase(key);
    return {};
  }
  Status fault;
  std::vector<ControlledPodPtr> pods = adopt_and_release(*job, cluster, fault);
  if (!fault.is_success()) return {.status = std::move(fault)};
  JobSync sync(cluster, *job, std::move(pods));
  JobBackoff& backoff = backoffs_[key];
  look_at_pods(sync, backoff);
  decide_end(sync);
  manage_pods(sync);
  Status tracked = track_pods(sync, backoff);
  SyncResult result{.status = tracked.is_success() ? std::move(sync.fault) : std::move(tracked),
                    .wake_at = sync.wake_at};
  return result;
}

}  // namespace berth
