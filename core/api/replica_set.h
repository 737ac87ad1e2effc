// apps/v1 ReplicaSet; v1 ReplicationController, which has a map of labels as its selector and is otherwise the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/api/decode.h"
#include "core/api/selector.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"
#include "core/shared.h"

namespace berth {

// spec.template: the pods that a controller makes.
struct PodTemplate {
  SharedPart<Json> json;  // as in the manifest: metadata and spec
  Shared<Labels> labels;  // metadata.labels in it
  bool operator==(const PodTemplate&) const = default;
};

struct ReplicaSetSpec {
  std::int32_t replicas = 1;
  std::int32_t min_ready_seconds = 0;
  LabelSelector selector;
  PodTemplate pod_template;
};

struct ReplicaSetStatus {
  std::int32_t replicas = 0;
  std::int32_t fully_labeled_replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::optional<std::int32_t> terminating_replicas;
  std::int64_t observed_generation = 0;
  Conditions conditions;
  bool operator==(const ReplicaSetStatus&) const = default;
};

struct ReplicaSet : ControlledObject {
  static constexpr std::string_view kKind = "ReplicaSet", kApiVersion = "apps/v1";
  explicit ReplicaSet(std::string_view kind_name = kKind) : ControlledObject(kind_name) {}
  ReplicaSetSpec spec;
  ReplicaSetStatus status;
};

inline constexpr std::string_view kReplicationController = "ReplicationController";
// The condition while the last attempt to create or delete pods failed; a Deployment takes it over.
inline constexpr std::string_view kReplicaFailure = "ReplicaFailure";

// As decode.h describes.
Result<ReplicaSet> decode_replica_set(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<ReplicaSet> decode_replication_controller(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

Json to_json(const ReplicaSetStatus& status);

namespace decode {

// spec.template
void read_pod_template(FieldReader& spec, PodTemplate& out);

// The last step of decoding an object for controllers: the object or the errors. Appends to `warnings` unless null.
template <class T>
Result<T> conclude_workload(T object, const Findings& findings, Warnings* warnings) {
  if (warnings != nullptr) {
    for (std::string& text : findings.warnings()) warnings->push_back(std::move(text));
  }
  if (findings.has_errors()) return findings.status();
  return object;
}

}  // namespace decode

}  // namespace berth
