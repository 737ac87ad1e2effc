// What a CronJob does with its Jobs (pkg/controller/cronjob/cronjob_controllerv2.go, utils.go). Functions with a status
// change it; who calls them writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/cron_job.h"
#include "core/api/job.h"
#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/cron_job/cron_schedule.h"
#include "core/controllers/cron_job/cron_starts.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

using JobPtr = std::shared_ptr<const Job>;

// The Jobs that are controlled by something of the CronJob's name, as upstream; ordered by name.
std::vector<JobPtr> jobs_of(const CronJob& cron_job, const ClusterAccess& cluster);
CronHistory history_of(const CronJob& cron_job);

// Deletes the oldest finished Jobs beyond the limits of the history (cleanupFinishedJobs).
void remove_old_jobs(ClusterAccess& cluster, const CronJob& cron_job, const std::vector<JobPtr>& jobs,
                     CronJobStatus& status);
// Drops Jobs that have finished or are gone from the active ones; learns the time of the last success.
void follow_jobs(ClusterAccess& cluster, const CronJob& cron_job, const std::vector<JobPtr>& jobs,
                 CronJobStatus& status);
// Starts the Job of this time, unless the policy or an earlier start forbids it. `start`: seconds since 1970.
Status start_job(ClusterAccess& cluster, const CronJob& cron_job, std::int64_t start, const TimeZoneFiles& zones,
                 CronJobStatus& status);

}  // namespace berth
