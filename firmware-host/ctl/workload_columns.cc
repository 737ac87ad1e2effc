#include "core/api/timestamp.h"
#include "core/check.h"
#include "firmware-host/ctl/columns.h"
#include "firmware-host/ctl/events.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

std::string workload_name(const Json& object) { return text_field(object, {"metadata", "name"}); }

// A number that a status leaves out is 0.
template <class... Path>
std::string number_at(const Json& object, Path... path) {
  const std::string number = text_field(object, {path...});
  return number.empty() ? "0" : number;
}

// Of what is watched there is only the status.
std::string desired_replicas(const Json& object) {
  if (object.find("spec") == nullptr) return number_at(object, "status", "replicas");
  const std::string said = text_field(object, {"spec", "replicas"});
  return said.empty() ? "1" : said;
}

std::string ready_of_desired(const Json& object) {
  return number_at(object, "status", "readyReplicas") + "/" + desired_replicas(object);
}

std::string template_images(const Json& object) {
  std::string images;
  const bool is_cron = field(object, {"spec", "jobTemplate"}) != nullptr;
  const Json::Array& containers =
      is_cron ? list_field(object, {"spec", "jobTemplate", "spec", "template", "spec", "containers"})
              : list_field(object, {"spec", "template", "spec", "containers"});
  for (const Json& container : containers) {
    images += (images.empty() ? "" : ",") + text_field(container, {"image"});
  }
  return images;
}

std::string match_labels(const Json& object) {
  return join_pairs(object_field(object, {"spec", "selector", "matchLabels"}));
}

// printJob.
std::string job_status(const Json& job) {
  if (has_condition(job, "Complete")) return "Complete";
  if (has_condition(job, "Failed")) return "Failed";
  if (!text_field(job, {"metadata", "deletionTimestamp"}).empty()) return "Terminating";
  if (has_condition(job, "Suspended")) return "Suspended";
  if (has_condition(job, "FailureTarget")) return "FailureTarget";
  if (has_condition(job, "SuccessCriteriaMet")) return "SuccessCriteriaMet";
  return "Running";
}

std::string job_completions(const Json& job) {
  const std::string done = number_at(job, "status", "succeeded");
  if (const std::string asked = text_field(job, {"spec", "completions"}); !asked.empty()) return done + "/" + asked;
  const std::string parallelism = text_field(job, {"spec", "parallelism"});
  if (!parallelism.empty() && parallelism != "1") return done + "/1 of " + parallelism;
  return done + "/1";
}

std::string job_duration(const Json& job, Millis now) {
  const auto start = parse_timestamp(text_field(job, {"status", "startTime"}));
  if (!start) return {};
  const auto end = parse_timestamp(text_field(job, {"status", "completionTime"}));
  return age_text(end.value_or(now) - *start);
}

std::string last_schedule(const Json& cron_job, Millis now) {
  const auto last = parse_timestamp(text_field(cron_job, {"status", "lastScheduleTime"}));
  return last ? age_text(now - *last) : "<none>";
}

std::string or_none(std::string text) { return text.empty() ? "<none>" : text; }

std::string revision_owner(const Json& revision) {
  for (const Json& owner : list_field(revision, {"metadata", "ownerReferences"})) {
    if (true_field(owner, {"controller"})) return text_field(owner, {"kind"}) + "/" + text_field(owner, {"name"});
  }
  return "<none>";
}

// Of the kinds whose pods end, or are counted by node.
const std::vector<Column>& columns_of_other_workloads(Kind kind) {
  static const std::vector<Column> kDaemonSet = {
      {"NAME", workload_name},
      {"DESIRED", [](const Json& object) { return number_at(object, "status", "desiredNumberScheduled"); }},
      {"CURRENT", [](const Json& object) { return number_at(object, "status", "currentNumberScheduled"); }},
      {"READY", [](const Json& object) { return number_at(object, "status", "numberReady"); }},
      {"UP-TO-DATE", [](const Json& object) { return number_at(object, "status", "updatedNumberScheduled"); }},
      {"AVAILABLE", [](const Json& object) { return number_at(object, "status", "numberAvailable"); }},
      {"NODE SELECTOR",
       [](const Json& object) {
         return or_none(join_pairs(object_field(object, {"spec", "template", "spec", "nodeSelector"})));
       }},
      {"IMAGES", template_images, true},
      {"SELECTOR", match_labels, true}};
  static const std::vector<Column> kJob = {
      {"NAME", workload_name},           {"STATUS", job_status},
      {"COMPLETIONS", job_completions},  {"DURATION", nullptr, false, job_duration},
      {"IMAGES", template_images, true}, {"SELECTOR", match_labels, true}};
  static const std::vector<Column> kCronJob = {
      {"NAME", workload_name},
      {"SCHEDULE", [](const Json& object) { return text_field(object, {"spec", "schedule"}); }},
      {"TIMEZONE", [](const Json& object) { return or_none(text_field(object, {"spec", "timeZone"})); }},
      {"SUSPEND",
       [](const Json& object) { return std::string(true_field(object, {"spec", "suspend"}) ? "True" : "False"); }},
      {"ACTIVE", [](const Json& object) { return std::to_string(list_field(object, {"status", "active"}).size()); }},
      {"LAST SCHEDULE", nullptr, false, last_schedule},
      {"IMAGES", template_images, true}};
  static const std::vector<Column> kRevision = {
      {"NAME", workload_name}, {"CONTROLLER", revision_owner}, {"REVISION", [](const Json& object) {
                                                                  return text_field(object, {"revision"});
                                                                }}};
  switch (kind) {
    case Kind::daemon_set: return kDaemonSet;
    case Kind::job: return kJob;
    case Kind::cron_job: return kCronJob;
    case Kind::controller_revision: return kRevision;
    default: check_failed("no kind of a workload", __FILE__, __LINE__);
  }
}

}  // namespace

const std::vector<Column>& workload_columns(Kind kind) {
  static const std::vector<Column> kDeployment = {
      {"NAME", workload_name},
      {"READY", ready_of_desired},
      {"UP-TO-DATE", [](const Json& object) { return number_at(object, "status", "updatedReplicas"); }},
      {"AVAILABLE", [](const Json& object) { return number_at(object, "status", "availableReplicas"); }},
      {"IMAGES", template_images, true},
      {"SELECTOR", match_labels, true}};
  static const std::vector<Column> kReplicaSet = {
      {"NAME", workload_name},
      {"DESIRED", desired_replicas},
      {"CURRENT", [](const Json& object) { return number_at(object, "status", "replicas"); }},
      {"READY", [](const Json& object) { return number_at(object, "status", "readyReplicas"); }},
      {"IMAGES", template_images, true},
      {"SELECTOR", match_labels, true}};
  static const std::vector<Column> kStatefulSet = {
      {"NAME", workload_name}, {"READY", ready_of_desired}, {"IMAGES", template_images, true}};
  switch (kind) {
    case Kind::deployment: return kDeployment;
    case Kind::replica_set:
    case Kind::replication_controller: return kReplicaSet;
    case Kind::stateful_set: return kStatefulSet;
    default: return columns_of_other_workloads(kind);
  }
}

}  // namespace berth
