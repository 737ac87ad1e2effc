#include "core/controllers/cron_job/cron_job_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/api/timestamp.h"
#include "core/controllers/ownership.h"
#include "core/json/members.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

void tell(ClusterAccess& cluster, const CronJob& cron_job, WorkloadEvent::Type type, std::string reason,
          std::string message) {
  cluster.record(cron_job, {type, std::move(reason), std::move(message)});
}
constexpr auto kNormal = WorkloadEvent::Type::normal;
constexpr auto kWarning = WorkloadEvent::Type::warning;

bool is_active(const CronJobStatus& status, std::string_view uid) {
  return std::any_of(status.active.begin(), status.active.end(),
                     [&](const ActiveJob& each) { return each.uid == uid; });
}

void drop_active(CronJobStatus& status, std::string_view uid) {
  std::erase_if(status.active, [&](const ActiveJob& each) { return each.uid == uid; });
}

bool delete_job(ClusterAccess& cluster, const CronJob& cron_job, const Job& job, CronJobStatus& status) {
  DeleteOptions options;
  options.propagation = Propagation::background;
  const WriteResult result = cluster.remove(job, options);
  if (!result.is_done()) {
    tell(cluster, cron_job, kWarning, "FailedDelete", "Deleted job: " + result.message);
    return false;
  }
  drop_active(status, job.metadata.uid);
  tell(cluster, cron_job, kNormal, "SuccessfulDelete", "Deleted job " + job.metadata.name);
  return true;
}

// Those that have not started come last; equal ones keep the order of their names.
bool started_before(const JobPtr& a, const JobPtr& b) {
  const OptionalTime& first = a->status.started;
  const OptionalTime& second = b->status.started;
  return first && (!second || *first < *second);
}

void keep_latest(ClusterAccess& cluster, const CronJob& cron_job, const std::vector<JobPtr>& jobs,
                 std::string_view condition, std::optional<std::int32_t> limit, CronJobStatus& status) {
  if (!limit) return;
  std::vector<JobPtr> finished;
  for (const JobPtr& job : jobs) {
    const Condition* found = finished_condition(*job);
    if (found != nullptr && found->type == condition) finished.push_back(job);
  }
  stable_sort(finished, started_before);
  for (std::size_t i = 0; i + static_cast<std::size_t>(*limit) < finished.size(); ++i) {
    delete_job(cluster, cron_job, *finished[i], status);
  }
}

void learn_success(const Job& job, CronJobStatus& status) {
  const Condition* finished = finished_condition(job);
  if (finished == nullptr || finished->type != kJobComplete || !job.status.completed) return;
  if (!status.last_successful || *status.last_successful < *job.status.completed) {
    status.last_successful = job.status.completed;
  }
}

std::string job_name(const CronJob& cron_job, std::int64_t start) {
  return cron_job.metadata.name + "-" + std::to_string(start / 60);
}

// The zone of spec.timeZone, for the annotation only; UTC without one.
Result<TimeZone> zone_of(const CronJob& cron_job, const TimeZoneFiles& zones) {
  const std::string& name = cron_job.spec.time_zone.value_or("");
  return name.empty() ? TimeZone() : load_time_zone(name, zones);
}

Json make_job(const CronJob& cron_job, std::int64_t start, const TimeZone& zone) {
  const Json& job_template = cron_job.spec.job_template.get();
  const Json& made_from = member(job_template, "metadata");
  Json annotations = member(made_from, "annotations");
  annotations.set("batch.kubernetes.io/cronjob-scheduled-timestamp",
                  to_timestamp_in_zone(start * 1000, zone.offset_at(start)));
  Json metadata = Json::object();
  metadata.set("name", job_name(cron_job, start)).set("annotations", std::move(annotations));
  if (!member(made_from, "labels").is_null()) metadata.set("labels", member(made_from, "labels"));
  metadata.set("ownerReferences", to_json(std::vector{controller_reference(cron_job, CronJob::kApiVersion)}));
  return Json::object().set("metadata", std::move(metadata)).set("spec", member(job_template, "spec"));
}

// Replace: what still runs goes first.
Status delete_active_jobs(ClusterAccess& cluster, const CronJob& cron_job, CronJobStatus& status) {
  for (const ActiveJob& each : std::vector<ActiveJob>(status.active)) {
    const JobPtr job = find_as<Job>(cluster, Job::kKind, {each.name_space, each.name});
    if (job == nullptr) {
      const std::string fault = "jobs.batch \"" + each.name + "\" not found";
      tell(cluster, cron_job, kWarning, "FailedGet", "Get job: " + fault);
      return Status::error(fault);
    }
    if (!delete_job(cluster, cron_job, *job, status))
      return Status::error("could not replace job " + job->metadata.key());
  }
  return Status::ok();
}

}  // namespace

std::vector<JobPtr> jobs_of(const CronJob& cron_job, const ClusterAccess& cluster) {
  std::vector<JobPtr> jobs = list_as<Job>(cluster, Job::kKind, cron_job.metadata.namespace_);
  std::erase_if(jobs, [&](const JobPtr& job) {
    const OwnerReference* controller = controller_of(job->metadata);
    return controller == nullptr || controller->name != cron_job.metadata.name;
  });
  return jobs;
}

CronHistory history_of(const CronJob& cron_job) {
  const OptionalTime& last = cron_job.status.last_schedule;
  return {.created = cron_job.metadata.created.value_or(0) / 1000,
          .last_start = last ? std::optional(*last / 1000) : std::nullopt,
          .start_deadline = cron_job.spec.starting_deadline_seconds};
}

void remove_old_jobs(ClusterAccess& cluster, const CronJob& cron_job, const std::vector<JobPtr>& jobs,
                     CronJobStatus& status) {
  keep_latest(cluster, cron_job, jobs, kJobComplete, cron_job.spec.successful_jobs_history_limit, status);
  keep_latest(cluster, cron_job, jobs, kJobFailed, cron_job.spec.failed_jobs_history_limit, status);
}

void follow_jobs(ClusterAccess& cluster, const CronJob& cron_job, const std::vector<JobPtr>& jobs,
                 CronJobStatus& status) {
  for (const JobPtr& job : jobs) {
    const Condition* finished = finished_condition(*job);
    const bool listed = is_active(status, job->metadata.uid);
    if (!listed && finished == nullptr) {
      tell(cluster, cron_job, kWarning, "UnexpectedJob",
           "Saw a job that the controller did not create or forgot: " + job->metadata.name);
    } else if (listed && finished != nullptr) {
      drop_active(status, job->metadata.uid);
      tell(cluster, cron_job, kNormal, "SawCompletedJob",
           "Saw completed job: " + job->metadata.name + ", condition: " + finished->type);
    } else {
      learn_success(*job, status);
    }
  }
  for (const ActiveJob& each : std::vector<ActiveJob>(status.active)) {
    const bool known =
        std::any_of(jobs.begin(), jobs.end(), [&](const JobPtr& job) { return job->metadata.uid == each.uid; });
    if (known || cluster.find(Job::kKind, {each.name_space, each.name}) != nullptr) continue;
    tell(cluster, cron_job, kNormal, "MissingJob", "Active job went missing: " + each.name);
    drop_active(status, each.uid);
  }
}

Status start_job(ClusterAccess& cluster, const CronJob& cron_job, std::int64_t start, const TimeZoneFiles& zones,
                 CronJobStatus& status) {
  const std::string name = job_name(cron_job, start);
  const bool is_listed =
      std::any_of(status.active.begin(), status.active.end(), [&](const ActiveJob& each) { return each.name == name; });
  if (is_listed || status.last_schedule == OptionalTime(start * 1000)) return Status::ok();  // done already
  if (cron_job.spec.concurrency == CronJobSpec::Concurrency::forbid && !status.active.empty()) {
    tell(cluster, cron_job, kNormal, "JobAlreadyActive",
         "Not starting job because prior execution is running and concurrency policy is Forbid");
    return Status::ok();
  }
  if (cron_job.spec.concurrency == CronJobSpec::Concurrency::replace) {
    if (Status replaced = delete_active_jobs(cluster, cron_job, status); !replaced.is_success()) return replaced;
  }
  const Result<TimeZone> zone = zone_of(cron_job, zones);
  if (!zone) return zone.error();
  const std::string name_space = cron_job.metadata.namespace_;
  const WriteResult created = cluster.create(Job::kKind, name_space, make_job(cron_job, start, *zone));
  if (!created.is_done() && created.code != WriteResult::Code::already_exists) {
    tell(cluster, cron_job, kWarning, "FailedCreate", "Error creating job: " + created.message);
    return Status::error(created.message);
  }
  // One that exists was made before the status could be written; that of another owner is none of ours.
  const ObjectPtr job = cluster.find(Job::kKind, {name_space, name});
  if (job == nullptr) return Status::error("jobs.batch \"" + name + "\" not found");
  if (job->metadata.controller_uid != cron_job.metadata.uid || is_active(status, job->metadata.uid))
    return Status::ok();
  if (created.is_done()) tell(cluster, cron_job, kNormal, "SuccessfulCreate", "Created job " + name);
  status.active.push_back({name_space, name, std::string(job->metadata.uid)});
  status.last_schedule = start * 1000;
  return Status::ok();
}

}  // namespace berth
