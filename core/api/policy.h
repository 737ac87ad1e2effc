// Kinds for priority and disruption: scheduling/v1 PriorityClass and policy/v1 PodDisruptionBudget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/metadata.h"
#include "core/api/selector.h"
#include "core/json/json.h"

namespace berth {

// A number, or a percentage of one (apimachinery intstr).
struct IntOrPercent {
  std::int32_t value = 0;
  bool percent = false;
  bool operator==(const IntOrPercent&) const = default;
};

// policy/v1 PodDisruptionBudget.
struct PodDisruptionBudget {
  ObjectMeta metadata;
  std::optional<LabelSelector> selector;  // none matches nothing, empty everything in its namespace
  std::optional<IntOrPercent> min_available;
  std::optional<IntOrPercent> max_unavailable;
  bool always_allow = false;                // spec.unhealthyPodEvictionPolicy is AlwaysAllow
  bool has_status = false;                  // status.disruptionsAllowed is set
  std::int32_t disruptions_allowed = 0;     // status.disruptionsAllowed
  std::vector<std::string> disrupted_pods;  // status.disruptedPods: names of pods already counted
  Json manifest;
};

struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;
  Json manifest;
};

}  // namespace berth
