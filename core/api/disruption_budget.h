// policy/v1 PodDisruptionBudget as its controller and evictions see it: the budget and its whole status.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/api/decode.h"
#include "core/api/policy.h"
#include "core/api/workload_meta.h"

namespace berth {

struct DisruptionStatus {
  std::int64_t observed_generation = 0;
  std::map<std::string, std::string> disrupted_pods;  // since when, RFC 3339, by pod
  std::int32_t disruptions_allowed = 0;
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t expected_pods = 0;
  Conditions conditions;
  bool operator==(const DisruptionStatus&) const = default;
};

struct DisruptionBudget : ControlledObject {
  static constexpr std::string_view kKind = "PodDisruptionBudget", kApiVersion = "policy/v1";
  DisruptionBudget() : ControlledObject(kKind) {}
  PodDisruptionBudget budget;
  DisruptionStatus status;
};

// As decode.h describes.
Result<DisruptionBudget> decode_disruption_budget(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

Json to_json(const DisruptionStatus& status);

}  // namespace berth
