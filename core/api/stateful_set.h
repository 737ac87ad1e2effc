// apps/v1 StatefulSet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/policy.h"
#include "core/api/replica_set.h"

namespace berth {

// spec.volumeClaimTemplates[]: one claim for each pod.
struct ClaimTemplate {
  std::string name;
  SharedPart<Json> json;  // as in the manifest
};

// spec.persistentVolumeClaimRetentionPolicy: what becomes of the claims; false: they are retained.
struct ClaimRetention {
  bool deletes_when_deleted = false;
  bool deletes_when_scaled = false;
};

// spec.updateStrategy.rollingUpdate
struct StatefulSetRollingUpdate {
  std::int32_t partition = 0;                   // pods with a lower index keep their revision
  std::optional<IntOrPercent> max_unavailable;  // absent: 1
};

struct StatefulSetSpec {
  std::int32_t replicas = 1;
  std::int32_t start_ordinal = 0;  // ordinals.start
  std::int32_t min_ready_seconds = 0;
  LabelSelector selector;
  Labels match_labels;  // selector.matchLabels, which claims get as labels
  PodTemplate pod_template;
  std::string service_name;
  bool parallel = false;   // podManagementPolicy is Parallel
  bool on_delete = false;  // updateStrategy.type is OnDelete
  std::optional<StatefulSetRollingUpdate> rolling_update;
  std::int32_t revision_history_limit = 10;
  std::vector<ClaimTemplate> claim_templates;  // ordered by name
  ClaimRetention claim_retention;
};

struct StatefulSetStatus {
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::int32_t current_replicas = 0;  // below zero when an update deletes a pod of neither revision
  std::int32_t updated_replicas = 0;
  std::string current_revision;  // names of ControllerRevisions
  std::string update_revision;
  std::optional<std::int32_t> collision_count;
  bool operator==(const StatefulSetStatus&) const = default;
};

struct StatefulSet : ControlledObject {
  static constexpr std::string_view kKind = "StatefulSet", kApiVersion = "apps/v1";
  StatefulSet() : ControlledObject(kKind) {}
  StatefulSetSpec spec;
  StatefulSetStatus status;
};

// As decode.h describes.
Result<StatefulSet> decode_stateful_set(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

Json to_json(const StatefulSetStatus& status);

}  // namespace berth
