// Job.
#include <array>

#include "core/api/decode_parts.h"
#include "core/api/job.h"
#include "core/api/timestamp.h"
#include "core/json/members.h"

namespace berth {
namespace {

constexpr std::array kActions{EnumName{std::string_view("FailJob"), PodFailureRule::Action::fail_job},
                              EnumName{std::string_view("FailIndex"), PodFailureRule::Action::fail_index},
                              EnumName{std::string_view("Ignore"), PodFailureRule::Action::ignore},
                              EnumName{std::string_view("Count"), PodFailureRule::Action::count}};
constexpr std::array kInNotIn{EnumName{std::string_view("In"), true}, EnumName{std::string_view("NotIn"), false}};
constexpr std::array kIndexed{EnumName{std::string_view("Indexed"), true},
                              EnumName{std::string_view("NonIndexed"), false}};
constexpr std::array kFailedOnly{EnumName{std::string_view("Failed"), true},
                                 EnumName{std::string_view("TerminatingOrFailed"), false}};

template <class T>
void read_optional(FieldReader& reader, std::string_view key, std::optional<T>& out, T min) {
  T value = 0;
  bool found = false;
  if constexpr (sizeof(T) == sizeof(std::int64_t)) {
    found = reader.read_int64(key, value, min);
  } else {
    found = reader.read_int32(key, value, min);
  }
  if (found) out = value;
}

void read_exit_codes(FieldReader& reader, ExitCodeRule& out) {
  reader.read_string("containerName", out.container);
  reader.require("operator", "In or NotIn");
  reader.read_enum("operator", kInNotIn, out.in);
  const Json* values = reader.take("values");
  if (values == nullptr || !values->is_array()) {
    reader.error("values", "expected a list of exit codes");
    return;
  }
  for (const Json& value : values->as_array()) {
    if (value.is_integer()) {
      out.values.push_back(static_cast<std::int32_t>(value.as_int()));
    } else {
      reader.error("values", "expected integers, got " + show_found(value));
    }
  }
}

void read_failure_rule(FieldReader& reader, PodFailureRule& rule) {
  reader.require("action", "FailJob, FailIndex, Ignore or Count");
  reader.read_enum("action", kActions, rule.action);
  reader.read_object("onExitCodes", [&](FieldReader& codes) { read_exit_codes(codes, rule.on_exit_codes.emplace()); });
  reader.read_each("onPodConditions", [&](FieldReader& condition) {
    PodFailureRule::Pattern& pattern = rule.on_pod_conditions.emplace_back();
    condition.require("type", "the type of a condition");
    condition.read_string("type", pattern.type);
    condition.read_string("status", pattern.status);
  });
  if (rule.on_exit_codes.has_value() == !rule.on_pod_conditions.empty()) {
    reader.rule("onExitCodes", "give either onExitCodes or onPodConditions");
  }
}

void read_success_rule(FieldReader& reader, SuccessRule& rule) {
  std::string indexes;
  if (reader.read_string("succeededIndexes", indexes)) rule.succeeded_indexes = indexes;
  read_optional(reader, "succeededCount", rule.succeeded_count, 1);
}

void read_policies(FieldReader& reader, JobSpec& spec) {
  reader.read_object("podFailurePolicy", [&](FieldReader& policy) {
    std::vector<PodFailureRule>& rules = spec.failure_policy.emplace();
    policy.read_each("rules", [&](FieldReader& rule) { read_failure_rule(rule, rules.emplace_back()); });
  });
  reader.read_object("successPolicy", [&](FieldReader& policy) {
    policy.read_each("rules", [&](FieldReader& rule) { read_success_rule(rule, spec.success_policy.emplace_back()); });
  });
}

void read_job_status(FieldReader& reader, JobStatus& status) {
  reader.read_int32("active", status.active, 0);
  reader.read_int32("succeeded", status.succeeded, 0);
  reader.read_int32("failed", status.failed, 0);
  read_optional(reader, "ready", status.ready, 0);
  read_optional(reader, "terminating", status.terminating, 0);
  reader.read_string("completedIndexes", status.completed_indexes);
  std::string failed;
  if (reader.read_string("failedIndexes", failed)) status.failed_indexes = failed;
  reader.read_object("uncountedTerminatedPods", [&](FieldReader& uids) {
    JobStatus::Uncounted& uncounted = status.uncounted.emplace();
    uids.read_list("succeeded", uncounted.succeeded);
    uids.read_list("failed", uncounted.failed);
  });
  decode::read_time(reader, "startTime", status.started);
  decode::read_time(reader, "completionTime", status.completed);
  decode::read_conditions(reader, status.conditions);
}

template <class T>
void set_count(Json& object, std::string_view key, const std::optional<T>& value) {
  if (value) object.set(key, *value);
}

}  // namespace

namespace decode {

void read_job_spec(FieldReader& reader, JobSpec& spec) {
  reader.carry({"manualSelector"});
  reader.read_int32("parallelism", spec.parallelism, 0);
  read_optional(reader, "completions", spec.completions, 0);
  read_optional<std::int64_t>(reader, "activeDeadlineSeconds", spec.active_deadline_seconds, 1);
  reader.read_int32("backoffLimit", spec.backoff_limit, 0);
  read_optional(reader, "backoffLimitPerIndex", spec.backoff_limit_per_index, 0);
  read_optional(reader, "maxFailedIndexes", spec.max_failed_indexes, 0);
  read_optional(reader, "ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0);
  reader.read_enum("completionMode", kIndexed, spec.indexed);
  reader.read_bool("suspend", spec.suspend);
  reader.read_enum("podReplacementPolicy", kFailedOnly, spec.replace_failed_only);
  reader.read_string("managedBy", spec.managed_by);
  reader.read_object("selector", [&](FieldReader& selector) { read_label_selector(selector, spec.selector); });
  read_policies(reader, spec);
  read_pod_template(reader, spec.pod_template);
  spec.restart_on_failure = member(member(spec.pod_template.json.get(), "spec"), "restartPolicy") == Json("OnFailure");
  if (spec.indexed && !spec.completions) {
    reader.rule("completions", "missing; it is required when completionMode is Indexed");
    spec.completions = spec.parallelism;
  }
  if (!spec.indexed && (spec.backoff_limit_per_index || spec.max_failed_indexes)) {
    reader.rule("backoffLimitPerIndex", "requires completionMode: Indexed");
  }
}

}  // namespace decode

Result<Job> decode_job(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Job job;
  decode::read_workload_head(reader, Job::kApiVersion, job);
  reader.read_object("spec", [&](FieldReader& spec) { decode::read_job_spec(spec, job.spec); });
  reader.read_object("status", [&](FieldReader& status) { read_job_status(status, job.status); });
  reader.finish();
  return decode::conclude_workload(std::move(job), findings, warnings);
}

const Condition* finished_condition(const Job& job) {
  for (const Condition& condition : job.status.conditions) {
    const bool is_last = condition.type == kJobComplete || condition.type == kJobFailed;
    if (is_last && condition.status == "True") return &condition;
  }
  return nullptr;
}

Json to_json(const JobStatus& status) {
  Json json = Json::object();
  set_unless_zero(json, "active", status.active);
  set_unless_zero(json, "succeeded", status.succeeded);
  set_unless_zero(json, "failed", status.failed);
  set_count(json, "ready", status.ready);
  set_count(json, "terminating", status.terminating);
  if (!status.completed_indexes.empty()) json.set("completedIndexes", status.completed_indexes);
  if (status.failed_indexes) json.set("failedIndexes", *status.failed_indexes);
  if (status.uncounted) {
    Json uids = Json::object();
    if (!status.uncounted->succeeded.empty()) uids.set("succeeded", to_json(status.uncounted->succeeded));
    if (!status.uncounted->failed.empty()) uids.set("failed", to_json(status.uncounted->failed));
    json.set("uncountedTerminatedPods", std::move(uids));
  }
  if (status.started) json.set("startTime", to_timestamp(*status.started));
  if (status.completed) json.set("completionTime", to_timestamp(*status.completed));
  if (!status.conditions.empty()) json.set("conditions", to_json(status.conditions));
  return json;
}

}  // namespace berth
