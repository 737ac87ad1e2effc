// How many pods of a Job are active, and how many should be (pkg/controller/job/job_controller.go, manageJob).
#include <algorithm>
#include <optional>
#include <utility>

#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_sync.h"
#include "core/controllers/pod_control.h"

namespace berth {
namespace {

constexpr Millis kBatchPeriod = 1000;  // SyncJobBatchPeriod

void note(JobSync& sync, Status status) {
  if (sync.fault.is_success()) sync.fault = std::move(status);
}

// Moves the pods from the active to the terminating ones. `untracked`: they are not to be counted.
void delete_pods(JobSync& sync, const std::vector<ControlledPodPtr>& pods, bool untracked) {
  for (const ControlledPodPtr& pod : pods) {
    Status status = untracked && is_tracked(*pod) ? remove_tracking(sync.cluster, *pod) : Status::ok();
    if (status.is_success()) status = delete_pod(sync.cluster, sync.job, *pod);
    if (pod->ready) --sync.ready_count;
    if (status.is_success()) {
      --sync.active_count;
      ++sync.terminating_count;
    }
    note(sync, std::move(status));
  }
}

std::int64_t wanted_active(const JobSync& sync) {
  const JobSpec& spec = sync.job.spec;
  if (!spec.completions) return sync.succeeded > 0 ? sync.active_count : spec.parallelism;
  return std::clamp<std::int64_t>(*spec.completions - sync.succeeded, 0, spec.parallelism);
}

// Upstream leaves no active pods in the status while it waits (1.36.2).
void wait_until(JobSync& sync, Millis until) {
  sync.wake(std::max(until, sync.now + kBatchPeriod));
  sync.active_count = 0;
}

// The indexes that get a pod now; empty: none does yet.
std::vector<std::int32_t> indexes_to_add(JobSync& sync, std::int64_t count) {
  IndexIntervals taken = sync.succeeded_indexes.merged_with(IndexIntervals(indexes_of(sync.active)));
  if (sync.job.spec.replace_failed_only) {
    std::vector<ControlledPodPtr> terminating = sync.pods;
    std::erase_if(terminating, [](const ControlledPodPtr& pod) { return !is_terminating(*pod); });
    taken = taken.merged_with(IndexIntervals(indexes_of(terminating)));
  }
  if (sync.failed_indexes) taken = taken.merged_with(*sync.failed_indexes);
  std::vector<std::int32_t> missing = taken.first_missing(count, sync.job.spec.completions.value_or(0));
  if (!sync.job.spec.backoff_limit_per_index) return missing;
  std::vector<std::int32_t> due;
  std::optional<Millis> earliest;
  for (const std::int32_t index : missing) {
    const auto failed = sync.waiting_for_replacement.find(index);
    const Millis until = failed == sync.waiting_for_replacement.end() ? 0 : index_backoff_until(*failed->second);
    if (until <= sync.now) due.push_back(index);
    if (until > sync.now) earliest = std::min(earliest.value_or(until), until);
  }
  if (due.empty() && earliest) wait_until(sync, *earliest);
  return due;
}

void create_pods(JobSync& sync, std::int64_t count) {
  const JobSpec& spec = sync.job.spec;
  if (!spec.backoff_limit_per_index && sync.backoff.until() > sync.now) {
    wait_until(sync, sync.backoff.until());
    return;
  }
  count = std::min<std::int64_t>(count, kBurstReplicas);
  std::vector<std::int32_t> indexes;
  if (spec.indexed) {
    indexes = indexes_to_add(sync, count);
    count = static_cast<std::int64_t>(indexes.size());
  }
  std::size_t next = 0;
  note(sync, slow_start(static_cast<int>(count), [&] {
         std::optional<std::int32_t> index;
         const ControlledPod* replaced = nullptr;
         if (spec.indexed) {
           index = indexes[next++];
           const auto failed = sync.waiting_for_replacement.find(*index);
           if (failed != sync.waiting_for_replacement.end()) replaced = failed->second.get();
         }
         Status status = create_pod(sync.cluster, sync.job, make_job_pod(sync.job, index, replaced));
         if (status.is_success()) ++sync.active_count;
         return status;
       }));
}

// Deletes or creates, never both in one synchronisation.
void adjust(JobSync& sync) {
  if (sync.job.spec.suspend) {
    delete_pods(sync, pods_to_remove(sync.job.spec, sync.active, sync.active_count), true);
    return;
  }
  const std::int64_t wanted = wanted_active(sync);
  std::vector<ControlledPodPtr> surplus =
      pods_to_remove(sync.job.spec, sync.active, std::max<std::int64_t>(sync.active_count - wanted, 0));
  if (surplus.size() > kBurstReplicas) surplus.resize(kBurstReplicas);
  if (!surplus.empty()) {
    delete_pods(sync, surplus, true);
    return;
  }
  const std::int64_t present = sync.active_count + (sync.job.spec.replace_failed_only ? sync.terminating_count : 0);
  if (present < wanted) create_pods(sync, wanted - present);
}

bool is_complete(const JobSync& sync) {
  if (sync.active_count != 0) return false;
  return sync.job.spec.completions ? sync.succeeded >= *sync.job.spec.completions : sync.succeeded > 0;
}

void show_suspension(JobSync& sync) {
  const bool suspended = sync.job.spec.suspend;
  const char* message = suspended ? "Job suspended" : "Job resumed";
  Condition condition = make_job_condition("Suspended", suspended ? "JobSuspended" : "JobResumed", message, sync.now);
  if (!suspended) condition.status = "False";
  if (!set_job_condition(sync.status.conditions, std::move(condition))) return;
  sync.cluster.record(sync.job, {WorkloadEvent::Type::normal, suspended ? "Suspended" : "Resumed", message});
  sync.status.started = suspended ? OptionalTime() : OptionalTime(sync.now);
}

}  // namespace

void manage_pods(JobSync& sync) {
  if (sync.end) {
    delete_pods(sync, sync.active, false);
    // Some could not be deleted: it is too early to end.
    if (sync.active_count != 0) sync.end.reset();
    return;
  }
  const bool is_deleted = sync.job.metadata.deletion.has_value();
  if (!is_deleted) adjust(sync);
  if (is_complete(sync)) {
    sync.end = make_job_condition(kSuccessCriteriaMet, "CompletionsReached",
                                  "Reached expected number of succeeded pods", sync.now);
  } else if (!is_deleted) {
    show_suspension(sync);
  }
}

}  // namespace berth
