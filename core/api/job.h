// batch/v1 Job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/decode.h"
#include "core/api/replica_set.h"
#include "core/api/selector.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"

namespace berth {

// spec.podFailurePolicy.rules[].onExitCodes
struct ExitCodeRule {
  std::string container;  // empty: any
  bool in = true;         // operator In; else NotIn
  std::vector<std::int32_t> values;
};

// spec.podFailurePolicy.rules[]: on exit codes, or on conditions of the pod.
struct PodFailureRule {
  enum class Action { fail_job, fail_index, ignore, count };
  struct Pattern {
    std::string type;
    std::string status = "True";
  };
  Action action = Action::count;
  std::optional<ExitCodeRule> on_exit_codes;
  std::vector<Pattern> on_pod_conditions;
};

// spec.successPolicy.rules[]
struct SuccessRule {
  std::optional<std::string> succeeded_indexes;  // "0,2-4"
  std::optional<std::int32_t> succeeded_count;
};

struct JobSpec {
  std::int32_t parallelism = 1;
  std::optional<std::int32_t> completions;  // none: done when one pod has succeeded and none is active
  std::optional<std::int64_t> active_deadline_seconds;
  std::int32_t backoff_limit = 6;
  std::optional<std::int32_t> backoff_limit_per_index;
  std::optional<std::int32_t> max_failed_indexes;
  std::optional<std::int32_t> ttl_seconds_after_finished;
  bool indexed = false;  // completionMode Indexed, which requires completions
  bool suspend = false;
  bool replace_failed_only = false;  // podReplacementPolicy Failed
  bool restart_on_failure = false;   // restartPolicy OnFailure of the template
  std::string managed_by;            // empty: by this controller
  std::optional<std::vector<PodFailureRule>> failure_policy;
  std::vector<SuccessRule> success_policy;
  LabelSelector selector;
  PodTemplate pod_template;
};

struct JobStatus {
  // Pods that have ended, by uid, and are not in the counts yet.
  struct Uncounted {
    std::vector<std::string> succeeded;
    std::vector<std::string> failed;
    bool operator==(const Uncounted&) const = default;
  };
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::optional<std::int32_t> ready;
  std::optional<std::int32_t> terminating;
  std::string completed_indexes;  // "0,2-4"
  std::optional<std::string> failed_indexes;
  std::optional<Uncounted> uncounted;
  OptionalTime started;    // startTime, milliseconds since 1970
  OptionalTime completed;  // completionTime
  Conditions conditions;
  bool operator==(const JobStatus&) const = default;
};

struct Job : ControlledObject {
  static constexpr std::string_view kKind = "Job", kApiVersion = "batch/v1";
  Job() : ControlledObject(kKind) {}
  JobSpec spec;
  JobStatus status;
};

inline constexpr std::string_view kJobComplete = "Complete", kJobFailed = "Failed";

// Its condition Complete or Failed that is True; null: not finished.
const Condition* finished_condition(const Job& job);

// As decode.h describes.
Result<Job> decode_job(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Json to_json(const JobStatus& status);

// What the API server sets in a new Job, which has its name and uid already: numbers, and unless its selector is its
// own affair (manualSelector), the labels of its pods and the selector for them (pkg/apis/batch/v1/defaults.go;
// pkg/registry/batch/job/strategy.go, generateSelector).
void set_job_defaults(Json& job);

namespace decode {

// The spec of a Job, also that of a CronJob's template.
void read_job_spec(FieldReader& reader, JobSpec& out);

}  // namespace decode

}  // namespace berth
