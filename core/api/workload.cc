#include "core/api/workload.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/api/decode_parts.h"
#include "core/api/pod.h"
#include "core/api/workload_defaults.h"
#include "core/check.h"
#include "core/json/members.h"

namespace berth {
namespace {

template <class T>
Result<ObjectPtr> with_defaults(Result<T> decoded) {
  if (!decoded) return decoded.error();
  set_workload_defaults(*decoded);
  return ObjectPtr(std::make_shared<const T>(std::move(*decoded)));
}

// What makes the pods of a workload; the pointers live as long as the object.
struct PodSource {
  const LabelSelector* selector;  // null: its pods are another's
  const Json* pod_template;
  std::string_view path = "spec.template";
  bool ends = false;  // its pods end: restartPolicy Never or OnFailure; else Always
  bool is_selector_fixed = true;
  bool is_selector_made = false;  // when the manifest has none
};

std::optional<PodSource> pod_source_of(const ControlledObject& object) {
  const auto source_of = [](const auto& spec) { return PodSource{&spec.selector, &spec.pod_template.json.get()}; };
  if (object.kind == ReplicaSet::kKind) return source_of(static_cast<const ReplicaSet&>(object).spec);
  if (object.kind == Deployment::kKind) return source_of(static_cast<const Deployment&>(object).spec);
  if (object.kind == StatefulSet::kKind) return source_of(static_cast<const StatefulSet&>(object).spec);
  if (object.kind == DaemonSet::kKind) return source_of(static_cast<const DaemonSet&>(object).spec);
  if (object.kind == kReplicationController) {
    PodSource source = source_of(static_cast<const ReplicaSet&>(object).spec);
    source.is_selector_fixed = false;
    return source;
  }
  if (object.kind == Job::kKind) {
    PodSource source = source_of(static_cast<const Job&>(object).spec);
    source.ends = source.is_selector_made = true;
    return source;
  }
  if (object.kind == CronJob::kKind) {
    const Json& job = static_cast<const CronJob&>(object).spec.job_template.get();
    return PodSource{nullptr, &member(member(job, "spec"), "template"), "spec.jobTemplate.spec.template", true};
  }
  return std::nullopt;
}

// The template as a pod of its own, whose faults are found as those of any other.
Json pod_of(const Json& pod_template, const ControlledObject& owner) {
  Json metadata = Json::object();
  metadata.set("name", "pod").set("namespace", owner.metadata.namespace_.get());
  for (const std::string_view key : {"labels", "annotations"}) {
    if (const Json& value = member(member(pod_template, "metadata"), key); !value.is_null()) metadata.set(key, value);
  }
  Json pod = Json::object();
  pod.set("metadata", std::move(metadata));
  if (const Json* spec = pod_template.find("spec")) pod.set("spec", *spec);
  return pod;
}

void check_restart_policy(const PodSource& source, const Json& pod, Status::Reasons& reasons) {
  const Json& policy = member(member(pod, "spec"), "restartPolicy");
  const std::string said = policy.is_string() ? policy.as_string() : "Always";
  if (source.ends == (said != "Always")) return;
  reasons.push_back(std::string(source.path) + ".spec.restartPolicy: must be " +
                    (source.ends ? "Never or OnFailure" : "Always") + ", got " +
                    (policy.is_string() ? "\"" + said + "\"" : "none, which means Always"));
}

void check_template(const PodSource& source, const ControlledObject& owner, Warnings* warnings,
                    Status::Reasons& reasons) {
  const Json pod = pod_of(*source.pod_template, owner);
  const std::string prefix = std::string(source.path) + ".";
  Warnings found;
  const Result<Pod> decoded = decode_pod(pod, &found, Rules::enforced);
  for (const std::string& warning : found) {
    // Unknown fields of the template are found with those of the whole manifest.
    if (warnings != nullptr && !is_about_unknown_field(warning)) warnings->push_back(prefix + warning);
  }
  if (!decoded) {
    for (const std::string& reason : decoded.error().reasons()) reasons.push_back(prefix + reason);
  }
  check_restart_policy(source, pod, reasons);
}

void check_selector(const PodSource& source, Status::Reasons& reasons) {
  if (source.selector == nullptr) return;
  const bool is_empty = source.selector->requirements.empty();
  if (is_empty && source.is_selector_made) return;
  Labels labels;
  const Json& said = member(member(*source.pod_template, "metadata"), "labels");
  for (const auto& [key, value] : said.is_object() ? said.as_object() : Json::Object()) {
    if (value.is_string()) labels.emplace(key, value.as_string());
  }
  if (is_empty) {
    reasons.push_back("spec.selector: must not be empty; name the labels of its pods");
  } else if (!matches(*source.selector, labels)) {
    reasons.push_back("spec.template.metadata.labels: must match spec.selector; give the pods its labels");
  }
}

Status check_pods(const ControlledObject& object, const Json& manifest, Warnings* warnings) {
  const std::optional<PodSource> source = pod_source_of(object);
  if (!source) return Status::ok();
  if (!member(manifest, "spec").is_object()) return Status::error("spec: missing; expected the template of its pods");
  Status::Reasons reasons;
  check_selector(*source, reasons);
  check_template(*source, object, warnings, reasons);
  if (reasons.empty()) return Status::ok();
  return {Code::error, std::move(reasons)};
}

bool is_zero(const std::optional<IntOrPercent>& number) { return !number || number->value == 0; }

// An update that may neither take a pod away nor add one never ends.
Status check_rolling(const ControlledObject& object) {
  bool stands_still = false;
  std::string_view strategy = "strategy";
  if (object.kind == Deployment::kKind) {
    const DeploymentSpec& spec = static_cast<const Deployment&>(object).spec;
    stands_still = !spec.recreate && is_zero(spec.max_surge) && is_zero(spec.max_unavailable);
  } else if (object.kind == DaemonSet::kKind) {
    const DaemonSetSpec& spec = static_cast<const DaemonSet&>(object).spec;
    strategy = "updateStrategy";
    stands_still = !spec.on_delete && is_zero(spec.max_surge) && is_zero(spec.max_unavailable);
  }
  if (!stands_still) return Status::ok();
  return Status::error("spec." + std::string(strategy) +
                       ".rollingUpdate.maxUnavailable: must not be 0 when maxSurge is 0; set one of them higher");
}

Status fixed_field(std::string_view field) {
  return Status::error(std::string(field) + ": is immutable; delete the object and apply it again");
}

// ValidateStatefulSetUpdate.
Status check_set_update(const StatefulSetSpec& before, const StatefulSetSpec& after) {
  if (before.service_name != after.service_name) return fixed_field("spec.serviceName");
  if (before.parallel != after.parallel) return fixed_field("spec.podManagementPolicy");
  const auto is_same = [](const ClaimTemplate& a, const ClaimTemplate& b) { return a.json.get() == b.json.get(); };
  if (!std::equal(before.claim_templates.begin(), before.claim_templates.end(), after.claim_templates.begin(),
                  after.claim_templates.end(), is_same)) {
    return fixed_field("spec.volumeClaimTemplates");
  }
  return Status::ok();
}

// ValidateJobUpdateSpec.
Status check_job_update(const JobSpec& before, const JobSpec& after) {
  if (before.pod_template.json.get() != after.pod_template.json.get()) return fixed_field("spec.template");
  if (before.indexed != after.indexed) return fixed_field("spec.completionMode");
  if (!before.indexed && before.completions != after.completions) return fixed_field("spec.completions");
  return Status::ok();
}

}  // namespace

bool is_workload(Kind kind) {
  switch (kind) {
    case Kind::replication_controller:
    case Kind::replica_set:
    case Kind::deployment:
    case Kind::stateful_set:
    case Kind::daemon_set:
    case Kind::job:
    case Kind::cron_job:
    case Kind::controller_revision: return true;
    default: return false;
  }
}

Result<ObjectPtr> decode_workload(Kind kind, const Json& json, Rules rules) {
  switch (kind) {
    case Kind::replication_controller: return with_defaults(decode_replication_controller(json, nullptr, rules));
    case Kind::replica_set: return with_defaults(decode_replica_set(json, nullptr, rules));
    case Kind::deployment: return with_defaults(decode_deployment(json, nullptr, rules));
    case Kind::stateful_set: return with_defaults(decode_stateful_set(json, nullptr, rules));
    case Kind::daemon_set: return with_defaults(decode_daemon_set(json, nullptr, rules));
    case Kind::job: return with_defaults(decode_job(json, nullptr, rules));
    case Kind::cron_job: return with_defaults(decode_cron_job(json, nullptr, rules));
    case Kind::controller_revision: return with_defaults(decode_controller_revision(json, nullptr, rules));
    default: check_failed("no kind of a workload", __FILE__, __LINE__);
  }
}

Status check_workload(Kind kind, const Json& manifest, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  check_fields(kind, manifest, findings);
  if (warnings != nullptr) {
    for (std::string& warning : findings.warnings()) warnings->push_back(std::move(warning));
  }
  const Result<ObjectPtr> decoded = decode_workload(kind, manifest, rules);
  if (!decoded) return decoded.error();
  if (findings.has_errors()) return findings.status();
  if (rules == Rules::off) return Status::ok();
  if (Status pods = check_pods(**decoded, manifest, warnings); !pods.is_success()) return pods;
  return check_rolling(**decoded);
}

const LabelSelector* pod_selector_of(const ControlledObject& object) {
  const std::optional<PodSource> source = pod_source_of(object);
  return source ? source->selector : nullptr;
}

Status check_workload_update(const ControlledObject& before, const ControlledObject& after) {
  const std::optional<PodSource> was = pod_source_of(before), is = pod_source_of(after);
  if (was && was->selector != nullptr && was->is_selector_fixed && *was->selector != *is->selector) {
    return fixed_field("spec.selector");
  }
  if (before.kind == StatefulSet::kKind) {
    return check_set_update(static_cast<const StatefulSet&>(before).spec, static_cast<const StatefulSet&>(after).spec);
  }
  if (before.kind == Job::kKind) {
    return check_job_update(static_cast<const Job&>(before).spec, static_cast<const Job&>(after).spec);
  }
  if (before.kind == ControllerRevision::kKind && static_cast<const ControllerRevision&>(before).data.get() !=
                                                      static_cast<const ControllerRevision&>(after).data.get()) {
    return fixed_field("data");
  }
  return Status::ok();
}

}  // namespace berth
