// One synchronisation of a Job: what it sees, and what it makes of it, step by step (pkg/controller/job/
// job_controller.go, syncJob).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/job.h"
#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_pod.h"
#include "core/controllers/job/index_intervals.h"
#include "core/controllers/job/job_backoff.h"
#include "core/status.h"

namespace berth {

inline constexpr std::string_view kFailureTarget = "FailureTarget", kSuccessCriteriaMet = "SuccessCriteriaMet";

struct JobSync {
  // `pods_of_job`: ordered by name. Cluster and Job must outlive it.
  JobSync(ClusterAccess& access, const Job& of_job, std::vector<ControlledPodPtr> pods_of_job)
      : cluster(access),
        job(of_job),
        now(access.now() / 1000 * 1000),
        pods(std::move(pods_of_job)),
        status(of_job.status) {}

  ClusterAccess& cluster;
  const Job& job;
  Millis now;                          // full seconds, as times in objects have
  std::vector<ControlledPodPtr> pods;  // all of the Job
  std::vector<ControlledPodPtr> active;

  JobStatus status;  // as it becomes
  std::int32_t active_count = 0;
  std::int32_t ready_count = 0;
  std::int32_t terminating_count = 0;
  std::int64_t succeeded = 0;  // pods, also those that are not counted in the status yet; of an indexed Job its indexes
  std::int64_t failed = 0;
  JobBackoff backoff;

  // Of an indexed Job. The failed ones with backoffLimitPerIndex only.
  IndexIntervals succeeded_before;
  IndexIntervals succeeded_indexes;
  std::optional<IndexIntervals> failed_indexes;
  // With backoffLimitPerIndex: the failed pods of indexes that wait for a new one. They keep their finalizer, as the
  // new pod inherits the number of their failures.
  std::map<std::int32_t, ControlledPodPtr> waiting_for_replacement;

  std::optional<Condition> end;   // that the Job has failed, or reached its goal; none: it goes on
  std::optional<Millis> wake_at;  // the earliest time at which to look again
  Status fault;                   // the first failure to create or delete

  void wake(Millis at) { wake_at = wake_at ? std::min(*wake_at, at) : at; }
  // Whether this is how the Job ends well.
  bool is_success() const { return end && (end->type == kSuccessCriteriaMet || end->type == kJobComplete); }
};

// Counts pods and indexes. `backoff`: as the last synchronisation left it.
void look_at_pods(JobSync& sync, const JobBackoff& backoff);
// Whether the Job has failed or reached its goal (job_end.cc).
void decide_end(JobSync& sync);
// Deletes the active pods of a Job that ends; else creates or deletes what parallelism, completions, suspend and
// back-off ask for, and sees whether it is complete thereby (job_pod_count.cc).
void manage_pods(JobSync& sync);
// Counts pods that have ended, each once: first their uids are written, then their finalizers are removed, then the
// counts are written. Then the Job may be finished (job_tracking.cc). `backoff`: replaced when the status was written.
Status track_pods(JobSync& sync, JobBackoff& backoff);

// A condition that is True.
Condition make_job_condition(std::string_view type, std::string_view reason, std::string message, Millis now);
// Whether something changed. One that is absent stays so when it is to be False.
bool set_job_condition(Conditions& conditions, Condition condition);

}  // namespace berth
