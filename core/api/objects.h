// The Kubernetes objects that Berth knows, typed, as read from their JSON form (k8s.io/api core/v1, storage/v1,
// scheduling/v1). Field names are Kubernetes' own in snake_case. What scheduling does not read stays in `manifest`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/json.h"
#include "core/api/quantity.h"
#include "core/api/selector.h"
#include "core/status.h"

namespace berth {

using Labels = std::map<std::string, std::string>;
using ResourceList = std::map<std::string, Quantity>;  // by resource name: "cpu", "memory", "pods", "example.com/x"

struct ObjectMeta {
  std::string name;
  std::string namespace_;  // empty for kinds without namespace
  std::string uid;
  Labels labels;
  Labels annotations;
  // "<namespace>/<name>", or "<name>" for kinds without namespace.
  std::string key() const { return namespace_.empty() ? name : namespace_ + "/" + name; }
};

enum class TaintEffect { no_schedule, prefer_no_schedule, no_execute };
std::string_view to_string(TaintEffect effect);

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::no_schedule;
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  enum class Operator { equal, exists };
  std::string key;  // empty with exists: every taint
  Operator op = Operator::equal;
  std::string value;
  std::optional<TaintEffect> effect;  // none: every effect
  std::optional<std::int64_t> toleration_seconds;
  bool operator==(const Toleration&) const = default;
};

// k8s.io/api core/v1 Toleration.ToleratesTaint.
bool tolerates(const Toleration& toleration, const Taint& taint);
// True when some toleration tolerates the taint.
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

struct Container {
  std::string name;
  std::string image;
  ResourceList requests;
  ResourceList limits;
  bool restart_always = false;  // init containers only: a sidecar
};

struct PodVolume {
  std::string name;
  std::string claim_name;  // persistentVolumeClaim.claimName; empty for other sources
};

struct Pod {
  ObjectMeta metadata;
  std::string scheduler_name = "default-scheduler";
  std::int32_t priority = 0;
  std::string priority_class_name;
  std::string preemption_policy;  // "", "PreemptLowerPriority", "Never"
  std::string node_name;          // spec.nodeName: asks for that node (NodeName)
  Labels node_selector;
  std::optional<NodeSelector> required_node_affinity;
  std::vector<Toleration> tolerations;
  std::vector<std::string> scheduling_gates;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  std::vector<PodVolume> volumes;
  std::string restart_policy = "Always";
  std::int64_t termination_grace_period_seconds = 30;
  std::string nominated_node_name;  // status.nominatedNodeName
  Json manifest;                    // the object as accepted, whole

  const std::string& uid() const { return metadata.uid; }
};

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};

struct Node {
  ObjectMeta metadata;
  std::vector<Taint> taints;
  bool unschedulable = false;
  ResourceList allocatable;
  std::vector<ContainerImage> images;
  Json manifest;
};

struct PersistentVolume {
  ObjectMeta metadata;
  Quantity capacity;  // capacity.storage
  std::string storage_class_name;
  std::vector<std::string> access_modes;
  std::string volume_mode = "Filesystem";
  std::string reclaim_policy = "Retain";
  std::string local_path;
  std::optional<NodeSelector> node_affinity;  // nodeAffinity.required
  std::string claim_ref;                      // "<namespace>/<name>", empty: none
  std::string claim_ref_uid;
  std::string phase = "Available";  // Available, Bound, Released, Failed
  Json manifest;
};

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  Quantity request;  // resources.requests.storage
  std::optional<std::string> storage_class_name;
  std::vector<std::string> access_modes;
  std::string volume_mode = "Filesystem";
  std::string volume_name;
  std::optional<LabelSelector> selector;
  std::string phase = "Pending";  // Pending, Bound, Lost
  Json manifest;
};

struct StorageClass {
  static constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
  ObjectMeta metadata;
  std::string provisioner;
  bool wait_for_first_consumer = false;  // volumeBindingMode
  std::string reclaim_policy = "Delete";
  Json manifest;
};

struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;
  Json manifest;
};

struct Namespace {
  ObjectMeta metadata;
  Json manifest;
};

// Kinds by their Kubernetes name, the plural used in topics and keys, and whether they live in a namespace.
enum class Kind { pod, node, persistent_volume, persistent_volume_claim, storage_class, priority_class, namespace_ };
struct KindName {
  Kind kind;
  std::string_view name;        // "PersistentVolumeClaim"
  std::string_view plural;      // "persistentvolumeclaims"
  std::string_view short_name;  // "pvc"
  bool namespaced;
};
const std::vector<KindName>& kinds();
const KindName& describe(Kind kind);
// By name, plural, singular lower case or short name ("po", "pvc"); null when unknown.
const KindName* find_kind(std::string_view text);

// What decoding found that is not wrong but was not expected: "spec.containers[0].imagee: unknown field".
using Warnings = std::vector<std::string>;

// Decode from Kubernetes JSON. Wrong types, missing names, bad quantities, names outside
// [a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?: Code::error, each reason starting with the path of the field
// ("spec.containers[0].resources.requests.memory: ..."). Unknown fields are warned of. `warnings` may be null.
Result<Pod> decode_pod(const Json& json, Warnings* warnings);
Result<Node> decode_node(const Json& json, Warnings* warnings);
Result<PersistentVolume> decode_persistent_volume(const Json& json, Warnings* warnings);
Result<PersistentVolumeClaim> decode_persistent_volume_claim(const Json& json, Warnings* warnings);
Result<StorageClass> decode_storage_class(const Json& json, Warnings* warnings);
Result<PriorityClass> decode_priority_class(const Json& json, Warnings* warnings);
Result<Namespace> decode_namespace(const Json& json, Warnings* warnings);

// True when `name` may be one topic level and an object's name.
bool is_valid_name(std::string_view name);

}  // namespace berth
