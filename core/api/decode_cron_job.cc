// CronJob.
#include <array>

#include "core/api/cron_job.h"
#include "core/api/decode_parts.h"
#include "core/api/timestamp.h"

namespace berth {
namespace {

constexpr std::array kConcurrency{EnumName{std::string_view("Allow"), CronJobSpec::Concurrency::allow},
                                  EnumName{std::string_view("Forbid"), CronJobSpec::Concurrency::forbid},
                                  EnumName{std::string_view("Replace"), CronJobSpec::Concurrency::replace}};

void read_history_limit(FieldReader& reader, std::string_view key, std::optional<std::int32_t>& out) {
  if (std::int32_t limit = 0; reader.read_int32(key, limit, 0)) out = limit;
}

// Decoded to find its errors; Jobs are made from the JSON.
void read_job_template(FieldReader& reader, CronJobSpec& spec) {
  const Json* json = reader.take("jobTemplate");
  if (json == nullptr) {
    reader.rule("jobTemplate", "missing; expected the Jobs to make");
    return;
  }
  reader.read_object("jobTemplate", [](FieldReader& job) {
    job.read_object("metadata", [](FieldReader& metadata) {
      Labels texts;
      decode::read_labels(metadata, "labels", texts);
      metadata.read_strings("annotations", texts);
    });
    JobSpec checked;
    job.read_object("spec", [&](FieldReader& spec_of_job) { decode::read_job_spec(spec_of_job, checked); });
  });
  spec.job_template = SharedPart<Json>(Shared<Json>(*json));
}

void read_cron_job_spec(FieldReader& reader, CronJobSpec& spec) {
  reader.require("schedule", "when to start, such as \"*/5 * * * *\"");
  reader.read_string("schedule", spec.schedule);
  if (std::string zone; reader.read_string("timeZone", zone)) spec.time_zone = zone;
  if (std::int64_t seconds = 0; reader.read_int64("startingDeadlineSeconds", seconds, 0)) {
    spec.starting_deadline_seconds = seconds;
  }
  reader.read_enum("concurrencyPolicy", kConcurrency, spec.concurrency);
  reader.read_bool("suspend", spec.suspend);
  read_history_limit(reader, "successfulJobsHistoryLimit", spec.successful_jobs_history_limit);
  read_history_limit(reader, "failedJobsHistoryLimit", spec.failed_jobs_history_limit);
  read_job_template(reader, spec);
}

void read_cron_job_status(FieldReader& reader, CronJobStatus& status) {
  reader.read_each("active", [&](FieldReader& job) {
    job.carry({"apiVersion", "kind", "resourceVersion"});
    ActiveJob& active = status.active.emplace_back();
    job.read_string("namespace", active.name_space);
    job.read_string("name", active.name);
    job.read_string("uid", active.uid);
  });
  decode::read_time(reader, "lastScheduleTime", status.last_schedule);
  decode::read_time(reader, "lastSuccessfulTime", status.last_successful);
}

}  // namespace

Result<CronJob> decode_cron_job(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  CronJob cron_job;
  decode::read_workload_head(reader, CronJob::kApiVersion, cron_job);
  reader.read_object("spec", [&](FieldReader& spec) { read_cron_job_spec(spec, cron_job.spec); });
  reader.read_object("status", [&](FieldReader& status) { read_cron_job_status(status, cron_job.status); });
  reader.finish();
  return decode::conclude_workload(std::move(cron_job), findings, warnings);
}

Json to_json(const CronJobStatus& status) {
  Json json = Json::object();
  for (const ActiveJob& job : status.active) {
    Json reference = Json::object();
    reference.set("apiVersion", Job::kApiVersion).set("kind", Job::kKind);
    reference.set("namespace", job.name_space).set("name", job.name).set("uid", job.uid);
    if (json.find("active") == nullptr) json.set("active", Json::array());
    json.find("active")->push_back(std::move(reference));
  }
  if (status.last_schedule) json.set("lastScheduleTime", to_timestamp(*status.last_schedule));
  if (status.last_successful) json.set("lastSuccessfulTime", to_timestamp(*status.last_successful));
  return json;
}

}  // namespace berth
