// A PodDisruptionBudget with its whole status.
#include "core/api/disruption_budget.h"

#include "core/api/decode_parts.h"
#include "core/api/replica_set.h"

namespace berth {
namespace {

void read_disruption_status(FieldReader& reader, DisruptionStatus& status) {
  reader.read_int64("observedGeneration", status.observed_generation);
  reader.read_strings("disruptedPods", status.disrupted_pods);
  reader.read_int32("disruptionsAllowed", status.disruptions_allowed);
  reader.read_int32("currentHealthy", status.current_healthy);
  reader.read_int32("desiredHealthy", status.desired_healthy);
  reader.read_int32("expectedPods", status.expected_pods);
  decode::read_conditions(reader, status.conditions);
}

}  // namespace

Result<DisruptionBudget> decode_disruption_budget(const Json& json, Warnings* warnings, Rules rules) {
  Result<PodDisruptionBudget> budget = decode_pod_disruption_budget(json, warnings, rules);
  if (!budget) return budget.error();
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  DisruptionBudget out;
  decode::read_workload_head(reader, DisruptionBudget::kApiVersion, out);
  reader.read_object("status", [&out](FieldReader& status) { read_disruption_status(status, out.status); });
  out.budget = std::move(*budget);
  return decode::conclude_workload(std::move(out), findings, warnings);
}

Json to_json(const DisruptionStatus& status) {
  Json json = Json::object();
  set_unless_zero(json, "observedGeneration", status.observed_generation);
  Json disrupted = Json::object();
  for (const auto& [pod, since] : status.disrupted_pods) disrupted.set(pod, since);
  if (!status.disrupted_pods.empty()) json.set("disruptedPods", std::move(disrupted));
  json.set("disruptionsAllowed", status.disruptions_allowed).set("currentHealthy", status.current_healthy);
  json.set("desiredHealthy", status.desired_healthy).set("expectedPods", status.expected_pods);
  if (!status.conditions.empty()) json.set("conditions", to_json(status.conditions));
  return json;
}

}  // namespace berth
