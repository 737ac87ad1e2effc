// What objects that controllers look after have in common (apimachinery meta/v1 ObjectMeta, beyond what scheduling
// reads): owners, finalizers, the times of creation and deletion, and conditions of their status.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/metadata.h"
#include "core/json/json.h"
#include "core/optional_time.h"
#include "core/shared.h"

namespace berth {

class FieldReader;

// metadata.ownerReferences[]
struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  Text uid;
  bool controller = false;
  bool block_owner_deletion = false;
  bool operator==(const OwnerReference&) const = default;
};

struct WorkloadMeta : ObjectMeta {
  std::int64_t generation = 0;
  OptionalTime created;   // creationTimestamp, milliseconds since 1970
  OptionalTime deletion;  // deletionTimestamp: when the object may be removed at the latest; none: not being deleted
  Shared<std::vector<OwnerReference>> owner_references;
  Shared<std::vector<std::string>> finalizers;
};

// The reference with controller: true; null when nobody controls the object. Valid while `metadata` is.
const OwnerReference* controller_of(const WorkloadMeta& metadata);

// An object that is owned or owns, of any kind: ReplicaSet, ControlledPod ... `kind` says which.
struct ControlledObject {
  // `kind_name`: static storage.
  explicit ControlledObject(std::string_view kind_name) : kind(kind_name) {}
  ControlledObject(const ControlledObject&) = default;
  ControlledObject(ControlledObject&&) = default;
  ControlledObject& operator=(const ControlledObject&) = default;
  ControlledObject& operator=(ControlledObject&&) = default;
  virtual ~ControlledObject() = default;

  std::string_view kind;  // "ReplicaSet"
  WorkloadMeta metadata;
};
using ObjectPtr = std::shared_ptr<const ControlledObject>;

// One entry of status.conditions. Kinds leave out what they do not have.
struct Condition {
  std::string type;
  std::string status;  // "True", "False" or "Unknown"
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;  // of pods
  OptionalTime last_probe;               // milliseconds since 1970, as the others
  OptionalTime last_heartbeat;           // of nodes
  OptionalTime last_update;
  OptionalTime last_transition;
  bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

// Null when there is none of this type.
const Condition* find_condition(const Conditions& conditions, std::string_view type);
// Replaces the one of its type, which keeps its place; else appends it.
void set_condition(Conditions& conditions, Condition condition);
void remove_condition(Conditions& conditions, std::string_view type);

// The JSON forms, without members that are empty, zero or false.
Json to_json(const std::vector<OwnerReference>& references);
Json to_json(const Conditions& conditions);
Json to_json(const Labels& labels);
Json to_json(const std::vector<std::string>& texts);
// A member with `omitempty` in Kubernetes' types.
void set_unless_zero(Json& json, std::string_view key, std::int64_t number);

namespace decode {

// apiVersion and kind, checked if present, and metadata.
void read_workload_head(FieldReader& reader, std::string_view api_version, ControlledObject& out);
// status.conditions
void read_conditions(FieldReader& status, Conditions& out);
// A time in RFC 3339.
bool read_time(FieldReader& reader, std::string_view key, OptionalTime& out);

}  // namespace decode

}  // namespace berth
