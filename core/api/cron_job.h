// batch/v1 CronJob.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/decode.h"
#include "core/api/job.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"

namespace berth {

struct CronJobSpec {
  enum class Concurrency { allow, forbid, replace };
  std::string schedule;
  std::optional<std::string> time_zone;
  std::optional<std::int64_t> starting_deadline_seconds;
  Concurrency concurrency = Concurrency::allow;
  bool suspend = false;
  std::optional<std::int32_t> successful_jobs_history_limit;
  std::optional<std::int32_t> failed_jobs_history_limit;
  SharedPart<Json> job_template;  // metadata and spec of the Jobs
};

// A reference to a Job that has not finished.
struct ActiveJob {
  std::string name_space;
  std::string name;
  std::string uid;
  bool operator==(const ActiveJob&) const = default;
};

struct CronJobStatus {
  std::vector<ActiveJob> active;
  OptionalTime last_schedule;    // lastScheduleTime, milliseconds since 1970
  OptionalTime last_successful;  // lastSuccessfulTime
  bool operator==(const CronJobStatus&) const = default;
};

struct CronJob : ControlledObject {
  static constexpr std::string_view kKind = "CronJob", kApiVersion = "batch/v1";
  CronJob() : ControlledObject(kKind) {}
  CronJobSpec spec;
  CronJobStatus status;
};

// As decode.h describes. The schedule and the time zone are not checked: they need the time zones of the machine.
Result<CronJob> decode_cron_job(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Json to_json(const CronJobStatus& status);

}  // namespace berth
