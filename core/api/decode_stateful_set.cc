// StatefulSet.
#include <algorithm>

#include "core/api/decode_parts.h"
#include "core/api/stateful_set.h"

namespace berth {
namespace {

void read_rolling_update(FieldReader& rolling, StatefulSetRollingUpdate& out) {
  rolling.read_int32("partition", out.partition, 0);
  decode::read_int_or_percent(rolling, "maxUnavailable", out.max_unavailable);
  if (out.max_unavailable && out.max_unavailable->value == 0) {
    rolling.rule("maxUnavailable", "must be at least 1 or 1%");
  }
}

void read_update_strategy(FieldReader& strategy, StatefulSetSpec& spec) {
  static constexpr std::array kTypes{EnumName<bool>{"RollingUpdate", false}, EnumName<bool>{"OnDelete", true}};
  strategy.read_enum("type", kTypes, spec.on_delete);
  strategy.read_object("rollingUpdate", [&](FieldReader& rolling) {
    if (spec.on_delete) strategy.rule("rollingUpdate", "must be absent with the type OnDelete; remove it");
    read_rolling_update(rolling, spec.rolling_update.emplace());
  });
}

void read_claim_retention(FieldReader& retention, ClaimRetention& out) {
  static constexpr std::array kPolicies{EnumName<bool>{"Retain", false}, EnumName<bool>{"Delete", true}};
  retention.read_enum("whenDeleted", kPolicies, out.deletes_when_deleted);
  retention.read_enum("whenScaled", kPolicies, out.deletes_when_scaled);
}

void read_claim_template(FieldReader& claim, const Json& json, ClaimTemplate& out) {
  claim.carry({"apiVersion", "kind", "spec", "status"});
  claim.require("metadata", "an object with a name");
  claim.read_object("metadata", [&](FieldReader& metadata) {
    metadata.require("name", "the name of the volume that it makes");
    metadata.read_string("name", out.name);
    metadata.carry({"labels", "annotations"});
  });
  out.json = SharedPart<Json>(Shared<Json>(json));
}

void read_claim_templates(FieldReader& reader, std::vector<ClaimTemplate>& out) {
  const Json* list = reader.take("volumeClaimTemplates");
  reader.read_each("volumeClaimTemplates", [&](FieldReader& claim) {
    const Json& json = list->as_array()[out.size()];
    read_claim_template(claim, json, out.emplace_back());
  });
  std::sort(out.begin(), out.end(), [](const ClaimTemplate& a, const ClaimTemplate& b) { return a.name < b.name; });
}

// The labels of an object that was checked already.
Labels labels_in(const Json* json) {
  Labels labels;
  if (json == nullptr || !json->is_object()) return labels;
  for (const auto& [key, value] : json->as_object()) {
    if (value.is_string()) labels.emplace(key, value.as_string());
  }
  return labels;
}

void read_stateful_set_spec(FieldReader& reader, StatefulSetSpec& spec) {
  static constexpr std::array kPolicies{EnumName<bool>{"OrderedReady", false}, EnumName<bool>{"Parallel", true}};
  reader.read_int32("replicas", spec.replicas, 0);
  reader.read_int32("minReadySeconds", spec.min_ready_seconds, 0);
  reader.read_int32("revisionHistoryLimit", spec.revision_history_limit, 0);
  reader.read_string("serviceName", spec.service_name);
  reader.read_enum("podManagementPolicy", kPolicies, spec.parallel);
  reader.read_object("ordinals", [&](FieldReader& ordinals) { ordinals.read_int32("start", spec.start_ordinal, 0); });
  reader.require("selector", "the labels of its pods");
  reader.read_object("selector", [&](FieldReader& selector) {
    decode::read_label_selector(selector, spec.selector);
    spec.match_labels = labels_in(selector.take("matchLabels"));
  });
  decode::read_pod_template(reader, spec.pod_template);
  reader.read_object("updateStrategy", [&](FieldReader& strategy) { read_update_strategy(strategy, spec); });
  reader.read_object("persistentVolumeClaimRetentionPolicy",
                     [&](FieldReader& retention) { read_claim_retention(retention, spec.claim_retention); });
  read_claim_templates(reader, spec.claim_templates);
}

void read_stateful_set_status(FieldReader& reader, StatefulSetStatus& status) {
  reader.read_int64("observedGeneration", status.observed_generation);
  reader.read_int32("replicas", status.replicas, 0);
  reader.read_int32("readyReplicas", status.ready_replicas, 0);
  reader.read_int32("availableReplicas", status.available_replicas, 0);
  reader.read_int32("currentReplicas", status.current_replicas);
  reader.read_int32("updatedReplicas", status.updated_replicas, 0);
  reader.read_string("currentRevision", status.current_revision);
  reader.read_string("updateRevision", status.update_revision);
  if (std::int32_t count = 0; reader.read_int32("collisionCount", count, 0)) status.collision_count = count;
  reader.carry({"conditions"});
}

}  // namespace

Result<StatefulSet> decode_stateful_set(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  StatefulSet set;
  decode::read_workload_head(reader, StatefulSet::kApiVersion, set);
  reader.read_object("spec", [&](FieldReader& spec) { read_stateful_set_spec(spec, set.spec); });
  reader.read_object("status", [&](FieldReader& status) { read_stateful_set_status(status, set.status); });
  reader.finish();
  return decode::conclude_workload(std::move(set), findings, warnings);
}

Json to_json(const StatefulSetStatus& status) {
  Json json = Json::object();
  set_unless_zero(json, "observedGeneration", status.observed_generation);
  json.set("replicas", status.replicas);
  set_unless_zero(json, "readyReplicas", status.ready_replicas);
  json.set("availableReplicas", status.available_replicas);
  set_unless_zero(json, "currentReplicas", status.current_replicas);
  set_unless_zero(json, "updatedReplicas", status.updated_replicas);
  if (!status.current_revision.empty()) json.set("currentRevision", status.current_revision);
  if (!status.update_revision.empty()) json.set("updateRevision", status.update_revision);
  if (status.collision_count) json.set("collisionCount", *status.collision_count);
  return json;
}

}  // namespace berth
