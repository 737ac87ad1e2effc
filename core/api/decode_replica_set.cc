// ReplicaSet, ReplicationController and the pod template that they share with other workloads.
#include "core/api/decode_parts.h"
#include "core/api/replica_set.h"

namespace berth {
namespace {

void read_replica_set_status(FieldReader& reader, ReplicaSetStatus& status) {
  reader.read_int32("replicas", status.replicas, 0);
  reader.read_int32("fullyLabeledReplicas", status.fully_labeled_replicas, 0);
  reader.read_int32("readyReplicas", status.ready_replicas, 0);
  reader.read_int32("availableReplicas", status.available_replicas, 0);
  if (std::int32_t terminating = 0; reader.read_int32("terminatingReplicas", terminating, 0)) {
    status.terminating_replicas = terminating;
  }
  reader.read_int64("observedGeneration", status.observed_generation);
  decode::read_conditions(reader, status.conditions);
}

void read_replica_set_spec(FieldReader& reader, ReplicaSet& set) {
  ReplicaSetSpec& spec = set.spec;
  reader.read_int32("replicas", spec.replicas, 0);
  reader.read_int32("minReadySeconds", spec.min_ready_seconds, 0);
  if (set.kind == kReplicationController) {
    Labels labels;
    decode::read_labels(reader, "selector", labels);
    for (const auto& [key, value] : labels) {
      spec.selector.requirements.push_back({key, Requirement::Operator::in, {value}});
    }
  } else {
    reader.require("selector", "the labels of its pods");
    reader.read_object("selector",
                       [&](FieldReader& selector) { decode::read_label_selector(selector, spec.selector); });
  }
  decode::read_pod_template(reader, spec.pod_template);
}

Result<ReplicaSet> decode_as(std::string_view kind, std::string_view api_version, const Json& json, Warnings* warnings,
                             Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  ReplicaSet set(kind);
  decode::read_workload_head(reader, api_version, set);
  reader.read_object("spec", [&](FieldReader& spec) { read_replica_set_spec(spec, set); });
  reader.read_object("status", [&](FieldReader& status) { read_replica_set_status(status, set.status); });
  reader.finish();
  return decode::conclude_workload(std::move(set), findings, warnings);
}

}  // namespace

Result<ReplicaSet> decode_replica_set(const Json& json, Warnings* warnings, Rules rules) {
  return decode_as(ReplicaSet::kKind, ReplicaSet::kApiVersion, json, warnings, rules);
}

Result<ReplicaSet> decode_replication_controller(const Json& json, Warnings* warnings, Rules rules) {
  return decode_as(kReplicationController, "v1", json, warnings, rules);
}

Json to_json(const ReplicaSetStatus& status) {
  Json json = Json::object();
  json.set("replicas", status.replicas);
  set_unless_zero(json, "fullyLabeledReplicas", status.fully_labeled_replicas);
  set_unless_zero(json, "readyReplicas", status.ready_replicas);
  set_unless_zero(json, "availableReplicas", status.available_replicas);
  if (status.terminating_replicas) json.set("terminatingReplicas", *status.terminating_replicas);
  set_unless_zero(json, "observedGeneration", status.observed_generation);
  if (!status.conditions.empty()) json.set("conditions", to_json(status.conditions));
  return json;
}

namespace decode {

void read_pod_template(FieldReader& spec, PodTemplate& out) {
  const Json* json = spec.take("template");
  if (json == nullptr) {
    spec.rule("template", "missing; expected the pods to make");
    return;
  }
  spec.read_object("template", [&](FieldReader& pods) {
    pods.carry({"spec"});
    pods.read_object("metadata", [&](FieldReader& metadata) {
      metadata.carry({"annotations", "finalizers"});
      read_labels(metadata, "labels", out.labels.edit());
    });
  });
  out.json = SharedPart<Json>(Shared<Json>(*json));
}

}  // namespace decode
}  // namespace berth
