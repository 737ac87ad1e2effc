#include "core/controllers/job/job_sync.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_policies.h"

namespace berth {
namespace {

// Whether the pod can be counted at all, and has not been yet.
bool is_uncounted(const JobSync& sync, const ControlledPod& pod, const std::vector<std::string>& listed) {
  if (!is_tracked(pod) || lists(listed, pod.metadata.uid)) return false;
  return !sync.job.spec.indexed || valid_index(pod, sync.job.spec).has_value();
}

bool fails_index(const JobSpec& spec, const ControlledPod& pod) {
  if (!counts_as_failed(pod, spec)) return false;
  const FailureMatch match = match_failure_policy(spec, pod);
  if (match.fails_index()) return true;
  return match.counts() && failures_before(pod, kIndexFailures) >= *spec.backoff_limit_per_index;
}

// Those that have succeeded or failed since the status was written.
void look_at_indexes(JobSync& sync) {
  const JobSpec& spec = sync.job.spec;
  std::set<std::int32_t> succeeded;
  std::set<std::int32_t> failed;
  for (const ControlledPodPtr& pod : sync.pods) {
    const std::optional<std::int32_t> index = valid_index(*pod, spec);
    if (!index || !is_tracked(*pod)) continue;
    if (pod->phase == PodPhase::succeeded) succeeded.insert(*index);
    if (spec.backoff_limit_per_index && fails_index(spec, *pod)) failed.insert(*index);
  }
  const std::int32_t completions = spec.completions.value_or(0);
  sync.succeeded_before = IndexIntervals::parse(sync.status.completed_indexes, completions);
  sync.succeeded_indexes = sync.succeeded_before.merged_with(IndexIntervals(succeeded));
  sync.succeeded = sync.succeeded_indexes.total();
  if (spec.backoff_limit_per_index) {
    sync.failed_indexes =
        IndexIntervals::parse(sync.status.failed_indexes.value_or(""), completions).merged_with(IndexIntervals(failed));
  }
}

// Whether the pod is the later failure of the index.
bool failed_later(const ControlledPod& pod, const ControlledPod& other) {
  return all_failures_before(other) <= all_failures_before(pod) && end_of(other) <= end_of(pod);
}

void find_waiting_for_replacement(JobSync& sync) {
  const std::set<std::int32_t> active = indexes_of(sync.active);
  for (const ControlledPodPtr& pod : sync.pods) {
    const std::optional<std::int32_t> index = valid_index(*pod, sync.job.spec);
    if (!index || !is_tracked(*pod) || !counts_as_failed(*pod, sync.job.spec)) continue;
    if (sync.succeeded_indexes.has(*index) || sync.failed_indexes->has(*index) || active.contains(*index)) continue;
    ControlledPodPtr& last = sync.waiting_for_replacement[*index];
    if (last == nullptr || failed_later(*pod, *last)) last = pod;
  }
}

}  // namespace

void look_at_pods(JobSync& sync, const JobBackoff& backoff) {
  const JobSpec& spec = sync.job.spec;
  if (!sync.status.uncounted) sync.status.uncounted.emplace();
  const JobStatus::Uncounted& uncounted = *sync.status.uncounted;
  std::vector<ControlledPodPtr> succeeded;
  std::vector<ControlledPodPtr> failed;
  std::int64_t counted_failures = 0;
  for (const ControlledPodPtr& pod : sync.pods) {
    if (is_active(*pod)) sync.active.push_back(pod);
    if (is_active(*pod) && pod->ready) ++sync.ready_count;
    if (is_terminating(*pod)) ++sync.terminating_count;
    if (pod->phase == PodPhase::succeeded && is_uncounted(sync, *pod, uncounted.succeeded)) succeeded.push_back(pod);
    if (!counts_as_failed(*pod, spec) || !is_uncounted(sync, *pod, uncounted.failed)) continue;
    failed.push_back(pod);
    if (match_failure_policy(spec, *pod).counts()) ++counted_failures;
  }
  sync.active_count = static_cast<std::int32_t>(sync.active.size());
  sync.succeeded = sync.status.succeeded + static_cast<std::int64_t>(succeeded.size() + uncounted.succeeded.size());
  sync.failed = sync.status.failed + counted_failures + static_cast<std::int64_t>(uncounted.failed.size());
  if (!sync.status.started && !spec.suspend) sync.status.started = sync.now;
  sync.backoff = backoff.after(succeeded, failed);
  if (!spec.indexed) return;
  look_at_indexes(sync);
  if (spec.backoff_limit_per_index) find_waiting_for_replacement(sync);
}

Condition make_job_condition(std::string_view type, std::string_view reason, std::string message, Millis now) {
  Condition condition;
  condition.type = type;
  condition.status = "True";
  condition.reason = reason;
  condition.message = std::move(message);
  condition.last_probe = now;
  condition.last_transition = now;
  return condition;
}

bool set_job_condition(Conditions& conditions, Condition condition) {
  const Condition* before = find_condition(conditions, condition.type);
  if (before == nullptr && condition.status == "False") return false;
  if (before != nullptr && before->status == condition.status && before->reason == condition.reason &&
      before->message == condition.message) {
    return false;
  }
  set_condition(conditions, std::move(condition));
  return true;
}

}  // namespace berth
