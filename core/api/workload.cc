#include "core/api/workload.h"

#include <optional>
#include <string>
#include <utility>

#include "core/api/decode_parts.h"
#include "core/api/deployment.h"
#include "core/api/pod.h"
#include "core/api/replica_set.h"
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
  const LabelSelector* selector;
  const PodTemplate* pod_template;
  bool is_selector_fixed;
};

std::optional<PodSource> pod_source_of(const ControlledObject& object) {
  if (object.kind == ReplicaSet::kKind || object.kind == kReplicationController) {
    const ReplicaSetSpec& spec = static_cast<const ReplicaSet&>(object).spec;
    return PodSource{&spec.selector, &spec.pod_template, object.kind == ReplicaSet::kKind};
  }
  if (object.kind == Deployment::kKind) {
    const DeploymentSpec& spec = static_cast<const Deployment&>(object).spec;
    return PodSource{&spec.selector, &spec.pod_template, true};
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

void check_template(const PodSource& source, const ControlledObject& owner, Warnings* warnings,
                    Status::Reasons& reasons) {
  const Json pod = pod_of(source.pod_template->json.get(), owner);
  Warnings found;
  const Result<Pod> decoded = decode_pod(pod, &found, Rules::enforced);
  for (const std::string& warning : found) {
    // Unknown fields of the template are found with those of the whole manifest.
    if (warnings != nullptr && !is_about_unknown_field(warning)) warnings->push_back("spec.template." + warning);
  }
  if (!decoded) {
    for (const std::string& reason : decoded.error().reasons()) reasons.push_back("spec.template." + reason);
  }
  const Json& policy = member(member(pod, "spec"), "restartPolicy");
  if (policy.is_string() && policy.as_string() != "Always") {
    reasons.push_back("spec.template.spec.restartPolicy: must be Always, got \"" + policy.as_string() + "\"");
  }
}

Status check_pods(const ControlledObject& object, const Json& manifest, Warnings* warnings) {
  const std::optional<PodSource> source = pod_source_of(object);
  if (!source) return Status::ok();
  if (!member(manifest, "spec").is_object()) {
    return Status::error("spec: missing; expected the selector and the template of its pods");
  }
  Status::Reasons reasons;
  if (source->selector->requirements.empty()) {
    reasons.push_back("spec.selector: must not be empty; name the labels of its pods");
  } else if (!matches(*source->selector, source->pod_template->labels.get())) {
    reasons.push_back("spec.template.metadata.labels: must match spec.selector; give the pods its labels");
  }
  check_template(*source, object, warnings, reasons);
  if (reasons.empty()) return Status::ok();
  return {Code::error, std::move(reasons)};
}

bool is_zero(const std::optional<IntOrPercent>& number) { return !number || number->value == 0; }

Status check_rolling(const ControlledObject& object) {
  if (object.kind != Deployment::kKind) return Status::ok();
  const DeploymentSpec& spec = static_cast<const Deployment&>(object).spec;
  if (spec.recreate || !is_zero(spec.max_surge) || !is_zero(spec.max_unavailable)) return Status::ok();
  return Status::error(
      "spec.strategy.rollingUpdate.maxUnavailable: must not be 0 when maxSurge is 0; set one of them higher");
}

}  // namespace

bool is_workload(Kind kind) {
  return kind == Kind::replication_controller || kind == Kind::replica_set || kind == Kind::deployment;
}

Result<ObjectPtr> decode_workload(Kind kind, const Json& json, Rules rules) {
  switch (kind) {
    case Kind::replication_controller: return with_defaults(decode_replication_controller(json, nullptr, rules));
    case Kind::replica_set: return with_defaults(decode_replica_set(json, nullptr, rules));
    case Kind::deployment: return with_defaults(decode_deployment(json, nullptr, rules));
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
  if (was && was->is_selector_fixed && *was->selector != *is->selector) {
    return Status::error("spec.selector: is immutable; delete the object and apply it again");
  }
  return Status::ok();
}

}  // namespace berth
