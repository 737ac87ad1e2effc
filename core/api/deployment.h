// apps/v1 Deployment.
#pragma once

#include <cstdint>
#include <optional>

#include "core/api/policy.h"
#include "core/api/replica_set.h"
#include "core/api/rollout_plan.h"
#include "core/api/rollout_status.h"

namespace berth {

struct DeploymentSpec {
  std::int32_t replicas = 1;
  std::int32_t min_ready_seconds = 0;
  LabelSelector selector;
  PodTemplate pod_template;
  bool recreate = false;                        // strategy.type is Recreate
  std::optional<IntOrPercent> max_surge;        // strategy.rollingUpdate; absent counts as 0
  std::optional<IntOrPercent> max_unavailable;  // the same
  bool paused = false;
  std::optional<std::int32_t> revision_history_limit;     // absent: none
  std::optional<std::int32_t> progress_deadline_seconds;  // absent: none
};

struct DeploymentStatus {
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t updated_replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::int32_t unavailable_replicas = 0;
  std::optional<std::int32_t> terminating_replicas;
  std::optional<std::int32_t> collision_count;
  Conditions conditions;
  std::optional<RolloutStatus> rollout;  // none: there is no plan
  bool operator==(const DeploymentStatus&) const = default;
};

struct Deployment : ControlledObject {
  static constexpr std::string_view kKind = "Deployment", kApiVersion = "apps/v1";
  Deployment() : ControlledObject(kKind) {}
  DeploymentSpec spec;
  Rollout rollout;
  Json selector_json;  // spec.selector as in the manifest, which its ReplicaSets get with one more label
  DeploymentStatus status;
};

// As decode.h describes.
Result<Deployment> decode_deployment(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

Json to_json(const DeploymentStatus& status);

}  // namespace berth
