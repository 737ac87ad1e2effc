// Deployment.
#include "core/api/decode_parts.h"
#include "core/api/deployment.h"

namespace berth {
namespace {

void read_strategy(FieldReader& strategy, DeploymentSpec& spec) {
  static constexpr std::array kTypes{EnumName<bool>{"RollingUpdate", false}, EnumName<bool>{"Recreate", true}};
  strategy.read_enum("type", kTypes, spec.recreate);
  strategy.read_object("rollingUpdate", [&](FieldReader& rolling) {
    if (spec.recreate) strategy.rule("rollingUpdate", "must be absent with the type Recreate; remove it");
    decode::read_int_or_percent(rolling, "maxSurge", spec.max_surge);
    decode::read_int_or_percent(rolling, "maxUnavailable", spec.max_unavailable);
  });
}

void read_deployment_spec(FieldReader& reader, Deployment& deployment) {
  DeploymentSpec& spec = deployment.spec;
  reader.read_int32("replicas", spec.replicas, 0);
  reader.read_int32("minReadySeconds", spec.min_ready_seconds, 0);
  if (const Json* selector = reader.take("selector")) deployment.selector_json = *selector;
  reader.require("selector", "the labels of its pods");
  reader.read_object("selector", [&](FieldReader& selector) { decode::read_label_selector(selector, spec.selector); });
  decode::read_pod_template(reader, spec.pod_template);
  reader.read_object("strategy", [&](FieldReader& strategy) { read_strategy(strategy, spec); });
  reader.read_bool("paused", spec.paused);
  if (std::int32_t limit = 0; reader.read_int32("revisionHistoryLimit", limit, 0)) spec.revision_history_limit = limit;
  if (std::int32_t seconds = 0; reader.read_int32("progressDeadlineSeconds", seconds, 0)) {
    spec.progress_deadline_seconds = seconds;
    if (seconds <= spec.min_ready_seconds)
      reader.rule("progressDeadlineSeconds", "must be greater than minReadySeconds");
  }
}

void read_deployment_status(FieldReader& reader, DeploymentStatus& status) {
  reader.read_int64("observedGeneration", status.observed_generation);
  reader.read_int32("replicas", status.replicas, 0);
  reader.read_int32("updatedReplicas", status.updated_replicas, 0);
  reader.read_int32("readyReplicas", status.ready_replicas, 0);
  reader.read_int32("availableReplicas", status.available_replicas, 0);
  reader.read_int32("unavailableReplicas", status.unavailable_replicas, 0);
  std::int32_t number = 0;
  if (reader.read_int32("terminatingReplicas", number, 0)) status.terminating_replicas = number;
  if (reader.read_int32("collisionCount", number, 0)) status.collision_count = number;
  decode::read_conditions(reader, status.conditions);
  decode::read_rollout_status(reader, status.rollout);
}

}  // namespace

Result<Deployment> decode_deployment(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Deployment deployment;
  decode::read_workload_head(reader, Deployment::kApiVersion, deployment);
  reader.read_object("spec", [&](FieldReader& spec) { read_deployment_spec(spec, deployment); });
  decode::read_rollout(deployment.metadata.annotations.get(), decode::WavesOf::pods, rules, findings,
                       deployment.rollout);
  if (deployment.rollout.plan && deployment.spec.recreate) {
    findings.rule("spec.strategy.type", "must be RollingUpdate where there is a rollout plan, got Recreate");
  }
  reader.read_object("status", [&](FieldReader& status) { read_deployment_status(status, deployment.status); });
  reader.finish();
  return decode::conclude_workload(std::move(deployment), findings, warnings);
}

Json to_json(const DeploymentStatus& status) {
  Json json = Json::object();
  set_unless_zero(json, "observedGeneration", status.observed_generation);
  set_unless_zero(json, "replicas", status.replicas);
  set_unless_zero(json, "updatedReplicas", status.updated_replicas);
  set_unless_zero(json, "readyReplicas", status.ready_replicas);
  set_unless_zero(json, "availableReplicas", status.available_replicas);
  set_unless_zero(json, "unavailableReplicas", status.unavailable_replicas);
  if (status.terminating_replicas) json.set("terminatingReplicas", *status.terminating_replicas);
  if (status.collision_count) json.set("collisionCount", *status.collision_count);
  if (!status.conditions.empty()) json.set("conditions", to_json(status.conditions));
  if (status.rollout) json.set("rollout", to_json(*status.rollout));
  return json;
}

}  // namespace berth
