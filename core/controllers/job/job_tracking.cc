// The counts of a Job's pods, and its end (pkg/controller/job/job_controller.go, trackJobStatusAndRemoveFinalizers).
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_policies.h"
#include "core/controllers/job/job_sync.h"
#include "core/controllers/status_write.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

constexpr std::size_t kMaxUncounted = 500;  // MaxUncountedPods: the status must not grow without limit

using Uids = std::set<std::string, std::less<>>;

// Moves those whose pods have no finalizer any more, or are gone, into the counts.
void count_untracked(JobStatus& status, const Uids& tracked, bool indexed) {
  const auto is_untracked = [&](const std::string& uid) { return !tracked.contains(uid); };
  const auto succeeded = static_cast<std::int32_t>(std::erase_if(status.uncounted->succeeded, is_untracked));
  if (!indexed) status.succeeded += succeeded;
  status.failed += static_cast<std::int32_t>(std::erase_if(status.uncounted->failed, is_untracked));
}

bool may_lose_tracking(const JobSync& sync, const ControlledPod& pod, bool failed) {
  if (sync.job.metadata.deletion || sync.end || pod.phase == PodPhase::succeeded) return true;
  if (!failed) return false;
  const std::optional<std::int32_t> index = completion_index(pod);
  if (!index) return true;
  const auto waiting = sync.waiting_for_replacement.find(*index);
  return waiting == sync.waiting_for_replacement.end() || waiting->second->metadata.uid != pod.metadata.uid;
}

struct Ended {
  std::vector<ControlledPodPtr> pods;  // that may lose their finalizer
  std::set<std::int32_t> new_indexes;  // that have succeeded
  bool is_all = true;                  // false: more than may be listed at once
};

void list_ended_pod(JobSync& sync, const ControlledPod& pod, bool failed, Ended& ended) {
  const JobSpec& spec = sync.job.spec;
  JobStatus::Uncounted& uncounted = *sync.status.uncounted;
  const std::string uid(pod.metadata.uid);
  const std::optional<std::int32_t> index = valid_index(pod, spec);
  // Listed as failed in the status that the synchronisation began with: it stays so.
  const bool listed_failed = sync.job.status.uncounted && lists(sync.job.status.uncounted->failed, uid);
  if (pod.phase == PodPhase::succeeded && !listed_failed) {
    if (spec.indexed) {
      if (index && !sync.succeeded_before.has(*index)) ended.new_indexes.insert(*index);
    } else if (!lists(uncounted.succeeded, uid)) {
      uncounted.succeeded.push_back(uid);
    }
    return;
  }
  // Once the Job fails, all that is left has failed.
  const bool lost = failed || (sync.end && sync.end->type != kSuccessCriteriaMet);
  if (!lost || listed_failed || (spec.indexed && !index)) return;
  if (match_failure_policy(spec, pod).counts()) uncounted.failed.push_back(uid);
}

Ended list_ended(JobSync& sync) {
  Ended ended;
  std::vector<ControlledPodPtr> pods = sync.pods;
  if (sync.job.spec.indexed) {
    const auto index = [](const ControlledPodPtr& pod) { return completion_index(*pod).value_or(-1); };
    stable_sort(pods, [&](const auto& a, const auto& b) { return index(a) < index(b); });
  }
  const JobStatus::Uncounted& uncounted = *sync.status.uncounted;
  for (const ControlledPodPtr& pod : pods) {
    if (!is_tracked(*pod)) continue;
    const bool failed = counts_as_failed(*pod, sync.job.spec);
    if (!may_lose_tracking(sync, *pod, failed)) continue;
    ended.pods.push_back(pod);
    list_ended_pod(sync, *pod, failed, ended);
    if (ended.new_indexes.size() + uncounted.succeeded.size() + uncounted.failed.size() >= kMaxUncounted) {
      ended.is_all = false;
      break;
    }
  }
  return ended;
}

void show_indexes(JobSync& sync, const Ended& ended) {
  if (!sync.job.spec.indexed) return;
  sync.succeeded_indexes = sync.succeeded_indexes.merged_with(IndexIntervals(ended.new_indexes));
  sync.status.succeeded = static_cast<std::int32_t>(sync.succeeded_indexes.total());
  sync.status.completed_indexes = sync.succeeded_indexes.text();
  sync.status.failed_indexes = sync.failed_indexes ? std::optional(sync.failed_indexes->text()) : std::nullopt;
}

// Shows what the Job has decided, and makes the last condition of it.
void announce_end(JobSync& sync) {
  if (!sync.end) return;
  const bool is_new = sync.end->type == kFailureTarget || sync.end->type == kSuccessCriteriaMet;
  if (!is_new) return;
  set_condition(sync.status.conditions, *sync.end);
  const std::string_view last = sync.end->type == kFailureTarget ? kJobFailed : kJobComplete;
  sync.end = make_job_condition(last, sync.end->reason, std::move(sync.end->message), sync.now);
}

// Whether the Job is finished now: nothing may be uncounted or terminating.
bool finish_job(JobSync& sync) {
  const JobStatus::Uncounted& uncounted = *sync.status.uncounted;
  if (!sync.end || !uncounted.succeeded.empty() || !uncounted.failed.empty() || sync.terminating_count > 0)
    return false;
  set_job_condition(sync.status.conditions, *sync.end);
  if (sync.end->type == kJobComplete) sync.status.completed = sync.end->last_transition;
  return true;
}

void tell_end(JobSync& sync) {
  const auto tell = [&](WorkloadEvent::Type type, const std::string& reason, const std::string& message) {
    sync.cluster.record(sync.job, {type, reason, message});
  };
  if (sync.end->type != kJobComplete) {
    tell(WorkloadEvent::Type::warning, sync.end->reason, sync.end->message);
    return;
  }
  if (sync.job.spec.completions && sync.status.succeeded > *sync.job.spec.completions) {
    tell(WorkloadEvent::Type::warning, "TooManySucceededPods",
         "Too many succeeded pods running after completion count reached");
  }
  tell(WorkloadEvent::Type::normal, "Completed", "Job completed");
}

}  // namespace

Status track_pods(JobSync& sync, JobBackoff& backoff) {
  const bool indexed = sync.job.spec.indexed;
  JobStatus& status = sync.status;
  status.active = sync.active_count;
  status.ready = sync.ready_count;
  status.terminating = sync.terminating_count;
  Uids tracked;
  for (const ControlledPodPtr& pod : sync.pods) {
    if (is_tracked(*pod)) tracked.insert(std::string(pod->metadata.uid));
  }
  count_untracked(status, tracked, indexed);
  const Ended ended = list_ended(sync);
  show_indexes(sync, ended);
  announce_end(sync);
  const JobStatus listed = status;
  if (Status written = write_status(sync.cluster, sync.job, sync.job.status, listed); !written.is_success()) {
    return written;
  }
  if (listed != sync.job.status) backoff = sync.backoff;

  Status removed;
  for (const ControlledPodPtr& pod : ended.pods) {
    Status each = remove_tracking(sync.cluster, *pod);
    if (each.is_success()) tracked.erase(std::string(pod->metadata.uid));
    if (removed.is_success()) removed = std::move(each);
  }
  count_untracked(status, tracked, indexed);
  const bool finished = removed.is_success() && ended.is_all && finish_job(sync);
  if (Status written = write_status(sync.cluster, sync.job, listed, status); !written.is_success()) return written;
  if (finished) tell_end(sync);
  return removed;
}

}  // namespace berth
