// apps/v1 DaemonSet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/policy.h"
#include "core/api/replica_set.h"
#include "core/api/rollout_plan.h"
#include "core/api/rollout_status.h"
#include "core/api/taint.h"

namespace berth {

// What in spec.template.spec says which nodes the pods are for.
struct DaemonPlacement {
  std::string node_name;  // empty: any
  Labels node_selector;
  std::optional<NodeSelector> required_node_affinity;
  std::vector<Toleration> tolerations;
  bool host_network = false;
};

struct DaemonSetSpec {
  std::int32_t min_ready_seconds = 0;
  LabelSelector selector;
  PodTemplate pod_template;
  DaemonPlacement placement;
  bool on_delete = false;                       // updateStrategy.type is OnDelete
  std::optional<IntOrPercent> max_surge;        // updateStrategy.rollingUpdate; absent counts as 0
  std::optional<IntOrPercent> max_unavailable;  // the same
  std::int32_t revision_history_limit = 10;
};

struct DaemonSetStatus {
  std::int64_t observed_generation = 0;
  std::int32_t current_scheduled = 0;  // nodes that should run a pod and have one
  std::int32_t misscheduled = 0;       // nodes that should not, and have one
  std::int32_t desired_scheduled = 0;  // nodes that should
  std::int32_t ready = 0;
  std::int32_t updated_scheduled = 0;
  std::int32_t available = 0;
  std::int32_t unavailable = 0;
  std::optional<std::int32_t> collision_count;
  std::optional<RolloutStatus> rollout;  // none: there is no plan
  bool operator==(const DaemonSetStatus&) const = default;
};

struct DaemonSet : ControlledObject {
  static constexpr std::string_view kKind = "DaemonSet", kApiVersion = "apps/v1";
  DaemonSet() : ControlledObject(kKind) {}
  DaemonSetSpec spec;
  Rollout rollout;
  DaemonSetStatus status;
};

// As decode.h describes.
Result<DaemonSet> decode_daemon_set(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

Json to_json(const DaemonSetStatus& status);

}  // namespace berth
