#include "core/controllers/cron_job/cron_job_controller.h"

#include <utility>

#include "core/controllers/cron_job/cron_job_rules.h"
#include "core/controllers/status_write.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

// Keys of CronJobs whose schedule an update has broken: only an event tells so. No CronJob's name has a slash.
constexpr std::string_view kBrokenSchedule = "schedule/";

// Nothing adopts a Job.
bool selects_no_job(const ControlledObject& /*owner*/, const ControlledObject& /*job*/) { return false; }

bool has_other_times(const CronJob& before, const CronJob& after) {
  return before.spec.schedule != after.spec.schedule || before.spec.time_zone != after.spec.time_zone;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

// Starts what is due; when to look again. Without a time nothing is done until the CronJob or a Job of it changes.
SyncResult run_schedule(ClusterAccess& cluster, const CronJob& cron_job, const TimeZoneFiles& zones,
                        CronJobStatus& status) {
  const auto warn = [&](std::string reason, std::string message) {
    cluster.record(cron_job, {WorkloadEvent::Type::warning, std::move(reason), std::move(message)});
    return SyncResult();
  };
  const std::string& text = cron_job.spec.schedule;
  const std::string zone = cron_job.spec.time_zone.value_or("");
  if (!zone.empty()) {
    const Result<TimeZone> found = load_time_zone(zone, zones);
    if (!found) return warn("UnknownTimeZone", "invalid timeZone: " + quoted(zone) + ": " + found.error().message());
  }
  if (cron_job.spec.suspend) return {};
  if (CronSchedule::has_own_zone(text)) {
    warn("UnsupportedSchedule",
         "CRON_TZ or TZ used in schedule " + quoted(text) +
             " is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ "
             "for more details");
  }
  const Result<CronSchedule> schedule = CronSchedule::parse_in(text, zone, zones);
  if (!schedule) {
    return warn("UnparseableSchedule", "unparseable schedule: " + quoted(text) + " : " + schedule.error().message());
  }
  const std::int64_t now = cluster.now() / 1000;
  CronHistory history = history_of(cron_job);
  const Result<DueStart> due = due_start(*schedule, history, now);
  if (!due) return warn("InvalidSchedule", "invalid schedule: " + text + " : " + due.error().message());
  if (due->time) {
    if (due->missed == DueStart::Missed::many) {
      warn("TooManyMissedTimes",
           "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
    }
    if (Status started = start_job(cluster, cron_job, *due->time, zones, status); !started.is_success()) {
      return {.status = std::move(started)};
    }
    if (status.last_schedule) history.last_start = *status.last_schedule / 1000;
  }
  const std::optional<std::int64_t> next = next_look(*schedule, history, now);
  SyncResult result;
  if (next) result.wake_at = *next * 1000;
  return result;
}

void tell_broken_schedule(const ObjectKey& key, ClusterAccess& cluster) {
  const auto cron_job = find_as<CronJob>(cluster, CronJob::kKind, key);
  if (cron_job == nullptr) return;
  cluster.record(*cron_job, {WorkloadEvent::Type::warning, "UnParseableCronJobSchedule",
                             "unparseable schedule for cronjob: " + cron_job->spec.schedule});
}

}  // namespace

void CronJobController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == Job::kKind) {
    wake_owners(CronJob::kKind, change, cluster, queue, selects_no_job);
    return;
  }
  if (object.kind != CronJob::kKind) return;
  const auto& cron_job = static_cast<const CronJob&>(object);
  const bool is_rescheduled = change.before != nullptr && change.after != nullptr &&
                              has_other_times(static_cast<const CronJob&>(*change.before), cron_job);
  if (!is_rescheduled) {
    queue.add(key_of(object));
    return;
  }
  // Other times start nothing that was missed by them: the CronJob is looked at when the next one comes.
  const std::string& text = cron_job.spec.schedule;
  const Result<CronSchedule> schedule = CronSchedule::parse_in(text, cron_job.spec.time_zone.value_or(""), zones_);
  if (!schedule) {
    queue.add({std::string(object.metadata.namespace_), std::string(kBrokenSchedule) + object.metadata.name});
    return;
  }
  const std::int64_t now = cluster.now() / 1000;
  const std::optional<std::int64_t> next = next_look(*schedule, history_of(cron_job), now);
  queue.add_at(key_of(object), next.value_or(now) * 1000, cluster.now());
}

SyncResult CronJobController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  if (key.name.starts_with(kBrokenSchedule)) {
    tell_broken_schedule({key.name_space, key.name.substr(kBrokenSchedule.size())}, cluster);
    return {};
  }
  const auto cron_job = find_as<CronJob>(cluster, CronJob::kKind, key);
  if (cron_job == nullptr) return {};
  const std::vector<JobPtr> jobs = jobs_of(*cron_job, cluster);
  CronJobStatus status = cron_job->status;
  remove_old_jobs(cluster, *cron_job, jobs, status);
  follow_jobs(cluster, *cron_job, jobs, status);
  SyncResult result;
  if (!cron_job->metadata.deletion) result = run_schedule(cluster, *cron_job, zones_, status);
  Status written = write_status(cluster, *cron_job, cron_job->status, status);
  if (!written.is_success()) return {.status = std::move(written)};
  return result;
}

}  // namespace berth
