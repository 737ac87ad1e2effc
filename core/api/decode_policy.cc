// Service and PodDisruptionBudget.
#include <charconv>

#include "core/api/decode_parts.h"
#include "core/api/policy.h"
#include "core/api/service.h"

namespace berth {
namespace decode {

void read_int_or_percent(FieldReader& reader, std::string_view key, std::optional<IntOrPercent>& out) {
  constexpr std::string_view kForm = "an integer of at least 0, or a percentage such as \"50%\"";
  const Json* value = reader.take(key);
  if (value == nullptr) return;
  if (value->is_number()) {
    IntOrPercent number;
    if (reader.read_int32(key, number.value, 0)) out = number;
    return;
  }
  IntOrPercent share{0, true};
  if (value->is_string() && value->as_string().ends_with('%')) {
    const std::string& text = value->as_string();
    const char* end = text.data() + text.size() - 1;
    const auto [at, error] = std::from_chars(text.data(), end, share.value);
    if (error == std::errc{} && at == end && share.value >= 0) {
      out = share;
      return;
    }
  }
  reader.error(key, "expected " + std::string(kForm) + ", got " + show_found(*value));
}

}  // namespace decode

namespace {

void read_budget_number(FieldReader& spec, std::string_view key, std::optional<IntOrPercent>& out) {
  decode::read_int_or_percent(spec, key, out);
  if (out && out->percent && out->value > 100)
    spec.rule(key, "must be at most 100%, got " + show_found(*spec.take(key)));
}

void read_budget_spec(FieldReader& spec, PodDisruptionBudget& budget) {
  spec.read_object("selector",
                   [&](FieldReader& selector) { decode::read_label_selector(selector, budget.selector.emplace()); });
  read_budget_number(spec, "minAvailable", budget.min_available);
  read_budget_number(spec, "maxUnavailable", budget.max_unavailable);
  if (budget.min_available && budget.max_unavailable) {
    spec.rule("maxUnavailable", "cannot be combined with minAvailable; keep one of them");
  }
  std::string policy;
  spec.read_enum("unhealthyPodEvictionPolicy", {"IfHealthyBudget", "AlwaysAllow"}, policy);
  budget.always_allow = policy == "AlwaysAllow";
}

void read_budget_status(FieldReader& status, PodDisruptionBudget& budget) {
  budget.has_status = status.read_int32("disruptionsAllowed", budget.disruptions_allowed);
  std::map<std::string, std::string> disrupted;
  if (status.read_strings("disruptedPods", disrupted)) {
    for (const auto& [pod, since] : disrupted) budget.disrupted_pods.push_back(pod);
  }
}

}  // namespace

Result<Service> decode_service(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Service service;
  decode::read_head(reader, Kind::service, service.metadata);
  reader.read_object("spec", [&](FieldReader& spec) { decode::read_labels(spec, "selector", service.selector); });
  reader.warn(
      "spec",
      "there is no Service networking: no address and no name leads to the pods; they are spread over nodes by it");
  reader.finish();
  return decode::conclude(Kind::service, std::move(service), json, findings, warnings);
}

Result<PodDisruptionBudget> decode_pod_disruption_budget(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  PodDisruptionBudget budget;
  decode::read_head(reader, Kind::pod_disruption_budget, budget.metadata);
  reader.read_object("spec", [&](FieldReader& spec) { read_budget_spec(spec, budget); });
  reader.read_object("status", [&](FieldReader& status) { read_budget_status(status, budget); });
  reader.finish();
  return decode::conclude(Kind::pod_disruption_budget, std::move(budget), json, findings, warnings);
}

}  // namespace berth
