// DaemonSet.
#include "core/api/daemon_set.h"
#include "core/api/decode_parts.h"
#include "core/api/pod.h"

namespace berth {
namespace {

void read_placement(FieldReader& pod_spec, DaemonPlacement& out) {
  pod_spec.read_string("nodeName", out.node_name);
  pod_spec.read_bool("hostNetwork", out.host_network);
  decode::read_labels(pod_spec, "nodeSelector", out.node_selector);
  pod_spec.read_object("affinity", [&](FieldReader& affinity) {
    Pod pod;
    decode::read_affinity(affinity, pod);
    if (pod.affinity->required_node_affinity) out.required_node_affinity = *pod.affinity->required_node_affinity;
  });
  pod_spec.read_each("tolerations",
                     [&](FieldReader& item) { decode::read_toleration(item, out.tolerations.emplace_back()); });
}

void read_daemon_strategy(FieldReader& strategy, DaemonSetSpec& spec) {
  static constexpr std::array kTypes{EnumName<bool>{"RollingUpdate", false}, EnumName<bool>{"OnDelete", true}};
  strategy.read_enum("type", kTypes, spec.on_delete);
  strategy.read_object("rollingUpdate", [&](FieldReader& rolling) {
    decode::read_int_or_percent(rolling, "maxSurge", spec.max_surge);
    decode::read_int_or_percent(rolling, "maxUnavailable", spec.max_unavailable);
    const auto is_zero = [](const std::optional<IntOrPercent>& number) { return number && number->value == 0; };
    const auto is_some = [](const std::optional<IntOrPercent>& number) { return number && number->value != 0; };
    if (is_some(spec.max_surge) && is_some(spec.max_unavailable)) {
      rolling.rule("maxSurge", "must be 0 when maxUnavailable is not");
    }
    if (is_zero(spec.max_surge) && is_zero(spec.max_unavailable)) {
      rolling.rule("maxUnavailable", "must not be 0 when maxSurge is 0");
    }
  });
}

void read_daemon_set_spec(FieldReader& reader, DaemonSetSpec& spec) {
  reader.read_int32("minReadySeconds", spec.min_ready_seconds, 0);
  reader.read_int32("revisionHistoryLimit", spec.revision_history_limit, 0);
  reader.require("selector", "the labels of its pods");
  reader.read_object("selector", [&](FieldReader& selector) { decode::read_label_selector(selector, spec.selector); });
  decode::read_pod_template(reader, spec.pod_template);
  reader.read_object("template", [&](FieldReader& pods) {
    pods.carry({"metadata"});
    pods.read_object("spec", [&](FieldReader& pod_spec) { read_placement(pod_spec, spec.placement); });
  });
  reader.read_object("updateStrategy", [&](FieldReader& strategy) { read_daemon_strategy(strategy, spec); });
}

void read_daemon_set_status(FieldReader& reader, DaemonSetStatus& status) {
  reader.read_int64("observedGeneration", status.observed_generation);
  reader.read_int32("currentNumberScheduled", status.current_scheduled, 0);
  reader.read_int32("numberMisscheduled", status.misscheduled, 0);
  reader.read_int32("desiredNumberScheduled", status.desired_scheduled, 0);
  reader.read_int32("numberReady", status.ready, 0);
  reader.read_int32("updatedNumberScheduled", status.updated_scheduled, 0);
  reader.read_int32("numberAvailable", status.available, 0);
  reader.read_int32("numberUnavailable", status.unavailable, 0);
  if (std::int32_t count = 0; reader.read_int32("collisionCount", count, 0)) status.collision_count = count;
  decode::read_rollout_status(reader, status.rollout);
  reader.carry({"conditions"});
}

}  // namespace

Result<DaemonSet> decode_daemon_set(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  DaemonSet set;
  decode::read_workload_head(reader, DaemonSet::kApiVersion, set);
  reader.read_object("spec", [&](FieldReader& spec) { read_daemon_set_spec(spec, set.spec); });
  decode::read_rollout(set.metadata.annotations.get(), decode::WavesOf::nodes, rules, findings, set.rollout);
  if (set.rollout.plan && set.spec.on_delete) {
    findings.rule("spec.updateStrategy.type", "must be RollingUpdate where there is a rollout plan, got OnDelete");
  }
  reader.read_object("status", [&](FieldReader& status) { read_daemon_set_status(status, set.status); });
  reader.finish();
  return decode::conclude_workload(std::move(set), findings, warnings);
}

Json to_json(const DaemonSetStatus& status) {
  Json json = Json::object();
  json.set("currentNumberScheduled", status.current_scheduled);
  json.set("numberMisscheduled", status.misscheduled);
  json.set("desiredNumberScheduled", status.desired_scheduled);
  json.set("numberReady", status.ready);
  set_unless_zero(json, "observedGeneration", status.observed_generation);
  set_unless_zero(json, "updatedNumberScheduled", status.updated_scheduled);
  set_unless_zero(json, "numberAvailable", status.available);
  set_unless_zero(json, "numberUnavailable", status.unavailable);
  if (status.collision_count) json.set("collisionCount", *status.collision_count);
  if (status.rollout) json.set("rollout", to_json(*status.rollout));
  return json;
}

}  // namespace berth
