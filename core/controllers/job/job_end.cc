// Whether a Job has failed or reached its goal, by what it has decided before, then its limits, then its successPolicy.
// That all completions are reached is seen in job_pod_count.cc, once no pod is active.
#include <optional>
#include <string>

#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_policies.h"
#include "core/controllers/job/job_sync.h"

namespace berth {
namespace {

bool is_true(const Condition* condition) { return condition != nullptr && condition->status == "True"; }

// podFailurePolicy, FailJob: the reason of the first pod.
std::optional<std::string> fail_job_message(const JobSync& sync) {
  if (!sync.job.spec.failure_policy) return std::nullopt;
  for (const ControlledPodPtr& pod : sync.pods) {
    if (!counts_as_failed(*pod, sync.job.spec)) continue;
    FailureMatch match = match_failure_policy(sync.job.spec, *pod);
    if (match.fails_job()) return std::move(match.message);
  }
  return std::nullopt;
}

// restartPolicy OnFailure: pods restart in their place, and never fail (pastBackoffLimitOnFailure).
bool has_restarted_too_often(const JobSync& sync) {
  if (!sync.job.spec.restart_on_failure) return false;
  std::int64_t restarts = 0;
  for (const ControlledPodPtr& pod : sync.pods) {
    if (pod->phase == PodPhase::running || pod->phase == PodPhase::pending) restarts += pod->all_restarts;
  }
  const std::int32_t limit = sync.job.spec.backoff_limit;
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

// None without a deadline, or while the Job is suspended.
std::optional<Millis> deadline_of(const JobSync& sync) {
  const JobSpec& spec = sync.job.spec;
  if (!spec.active_deadline_seconds || spec.suspend || !sync.status.started) return std::nullopt;
  return *sync.status.started + *spec.active_deadline_seconds * 1000;
}

void fail_job(JobSync& sync, std::string_view reason, std::string message) {
  sync.end = make_job_condition(kFailureTarget, reason, std::move(message), sync.now);
}

void decide_by_limits(JobSync& sync) {
  if (sync.failed > sync.job.spec.backoff_limit || has_restarted_too_often(sync)) {
    fail_job(sync, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    return;
  }
  const std::optional<Millis> deadline = deadline_of(sync);
  if (!deadline) return;
  if (*deadline <= sync.now) {
    fail_job(sync, "DeadlineExceeded", "Job was active longer than specified deadline");
  } else {
    sync.wake(*deadline);
  }
}

void decide_by_indexes(JobSync& sync) {
  const JobSpec& spec = sync.job.spec;
  if (sync.failed_indexes && !sync.failed_indexes->empty()) {
    const std::int64_t failed = sync.failed_indexes->total();
    if (spec.max_failed_indexes && failed > *spec.max_failed_indexes) {
      fail_job(sync, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
      return;
    }
    if (failed + sync.succeeded >= spec.completions.value_or(0)) {
      fail_job(sync, "FailedIndexes", "Job has failed indexes");
      return;
    }
  }
  if (std::optional<std::string> met = match_success_policy(spec, sync.succeeded_indexes)) {
    sync.end = make_job_condition(kSuccessCriteriaMet, "SuccessPolicy", std::move(*met), sync.now);
  }
}

}  // namespace

void decide_end(JobSync& sync) {
  if (const Condition* met = find_condition(sync.status.conditions, kSuccessCriteriaMet); is_true(met)) {
    sync.end = *met;
    return;
  }
  if (const Condition* target = find_condition(sync.status.conditions, kFailureTarget); is_true(target)) {
    sync.end = make_job_condition(kJobFailed, target->reason, target->message, sync.now);
    return;
  }
  if (std::optional<std::string> message = fail_job_message(sync)) {
    fail_job(sync, "PodFailurePolicy", std::move(*message));
    return;
  }
  decide_by_limits(sync);
  if (!sync.end && sync.job.spec.indexed) decide_by_indexes(sync);
}

}  // namespace berth
