// The Kubernetes objects that Berth knows, typed, as read from their JSON form (k8s.io/api core/v1, storage/v1,
// scheduling/v1, policy/v1). Field names are Kubernetes' own in snake_case. What scheduling does not read stays in
// `manifest`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/manifest.h"
#include "core/api/quantity.h"
#include "core/api/selector.h"
#include "core/json/json.h"
#include "core/shared.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

using Labels = std::map<std::string, std::string>;
using ResourceList = std::map<std::string, Quantity>;  // by resource name: "cpu", "memory", "pods", "example.com/x"

struct ObjectMeta {
  std::string name;
  Text namespace_;  // empty for kinds without namespace
  Text uid;
  Shared<Labels> labels;
  Shared<Labels> annotations;
  bool deleting = false;  // metadata.deletionTimestamp is set
  Text controller_uid;    // uid of the ownerReferences entry with controller: true; empty: none
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

// A port of the node itself that a container takes; ports without hostPort are left out.
struct HostPort {
  std::string host_ip;           // empty: 0.0.0.0, every address
  std::string protocol = "TCP";  // "TCP", "UDP", "SCTP"
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};

struct Container {
  std::string name;
  std::string image;
  std::vector<HostPort> host_ports;
  std::vector<HostPort> own_ports;  // those without hostPort, `port` is containerPort
  ResourceList requests;
  ResourceList limits;
  bool restart_always = false;  // init containers only: a sidecar
  bool operator==(const Container&) const = default;
};

// The parts of in-line disk sources that decide whether two pods may share the disk (VolumeRestrictions) and how many
// a node may attach (NodeVolumeLimits).
struct DiskSource {
  enum class Type { none, gce_persistent_disk, aws_elastic_block_store, iscsi, rbd, csi, azure_disk, cinder };
  Type type = Type::none;
  std::string id;  // pdName, volumeID, iqn, image; csi: driver
  std::string pool;
  std::vector<std::string> monitors;  // rbd
  bool read_only = false;
  bool operator==(const DiskSource&) const = default;
};

struct PodVolume {
  std::string name;
  std::string claim_name;  // persistentVolumeClaim.claimName; empty for other sources
  bool ephemeral = false;  // spec.volumes[].ephemeral: the claim is "<pod>-<volume>"
  DiskSource disk = {};
  bool operator==(const PodVolume&) const = default;
};

struct PreferredNodeTerm {
  std::int32_t weight = 1;  // 1..100
  NodeSelectorTerm preference;
  bool operator==(const PreferredNodeTerm&) const = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;      // none matches nothing
  std::vector<std::string> namespaces;              // none and no selector: the pod's own
  std::optional<LabelSelector> namespace_selector;  // empty matches every namespace
  std::string topology_key;
  // As they stand in the manifest; set_defaults() merges them into label_selector, as the API server does. Plugins
  // read label_selector only.
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  bool operator==(const PodAffinityTerm&) const = default;
};

struct WeightedPodAffinityTerm {
  std::int32_t weight = 1;  // 1..100
  PodAffinityTerm term;
  bool operator==(const WeightedPodAffinityTerm&) const = default;
};

struct PodAffinity {
  Shared<std::vector<PodAffinityTerm>> required;
  Shared<std::vector<WeightedPodAffinityTerm>> preferred;
  bool empty() const { return required.empty() && preferred.empty(); }
  bool operator==(const PodAffinity&) const = default;
};

struct TopologySpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool schedule_anyway = false;                 // whenUnsatisfiable
  std::optional<LabelSelector> label_selector;  // none matches nothing
  std::optional<std::int32_t> min_domains;
  bool honor_node_affinity = true;  // nodeAffinityPolicy
  bool honor_node_taints = false;   // nodeTaintsPolicy
  std::vector<std::string> match_label_keys;
  bool operator==(const TopologySpreadConstraint&) const = default;
};

// spec.affinity
struct Affinity {
  SharedOptional<NodeSelector> required_node_affinity;
  Shared<std::vector<PreferredNodeTerm>> preferred_node_affinity;
  PodAffinity pod_affinity;
  PodAffinity pod_anti_affinity;
  bool operator==(const Affinity&) const = default;
};

// A pod takes some 250 bytes, most of them for what it does not have: what pods of a workload have alike they share,
// once share_parts() or unpack_pod() saw to it (packed.h).
struct Pod {
  ObjectMeta metadata;
  Text scheduler_name = Text::common("default-scheduler");
  std::int32_t priority = 0;
  bool host_network = false;
  // Condition DisruptionTarget is True for reason PreemptionByScheduler: being deleted, it makes room for another pod.
  bool preempted = false;
  Text priority_class_name;
  Text preemption_policy;  // "", "PreemptLowerPriority", "Never"
  Text node_name;          // spec.nodeName: asks for that node (NodeName)
  Shared<Labels> node_selector;
  Shared<Affinity> affinity;
  Shared<std::vector<TopologySpreadConstraint>> topology_spread_constraints;
  Shared<std::vector<Toleration>> tolerations;
  Shared<std::vector<std::string>> scheduling_gates;
  Shared<std::vector<Container>> containers;
  Shared<std::vector<Container>> init_containers;
  Shared<ResourceList> requests;  // spec.resources.requests, of the pod as a whole: cpu, memory and huge pages count
  Shared<ResourceList> limits;    // spec.resources.limits
  Shared<ResourceList> overhead;
  Shared<std::vector<PodVolume>> volumes;
  Text restart_policy = Text::common("Always");
  std::int64_t termination_grace_period_seconds = 30;
  Text nominated_node_name;  // status.nominatedNodeName
  // status.startTime, milliseconds since 1970; none: not started.
  std::optional<std::int64_t> start_time;
  Text shape;  // of the manifest, see there

  const Text& uid() const { return metadata.uid; }
  // The object as accepted, whole. It is kept as what pods of a workload have alike: its text with a byte in the place
  // of each name and another in that of each uid, which follow those of `metadata`.
  Manifest manifest() const;
  void set_manifest(std::string_view text);
};

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  bool operator==(const ContainerImage&) const = default;
};

struct Node {
  ObjectMeta metadata;
  Shared<std::vector<Taint>> taints;
  bool unschedulable = false;
  Shared<ResourceList> allocatable;
  Shared<std::vector<ContainerImage>> images;
  Shared<std::map<std::string, std::string>> conditions;  // type -> status
  Json manifest;
};

struct PersistentVolume {
  ObjectMeta metadata;
  Quantity capacity;  // capacity.storage
  std::string storage_class_name;
  std::vector<std::string> access_modes;
  std::string volume_mode = "Filesystem";
  std::string volume_attributes_class_name;
  std::string reclaim_policy = "Retain";
  std::string local_path;
  DiskSource disk = {};
  std::string csi_driver;  // csi.driver, empty: no CSI volume
  std::string csi_volume_handle;
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
  std::string volume_attributes_class_name;
  std::string phase = "Pending";  // Pending, Bound, Lost
  Json manifest;
};

struct StorageClass {
  static constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
  ObjectMeta metadata;
  std::string provisioner;
  bool wait_for_first_consumer = false;  // volumeBindingMode
  std::string reclaim_policy = "Delete";
  std::vector<LabelSelector> allowed_topologies;  // one must hold; none: everywhere
  Json manifest;
};

// storage/v1 CSINode: what the CSI drivers of one node offer.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> attach_limit;  // allocatable.count
  };
  ObjectMeta metadata;  // annotation storage.alpha.kubernetes.io/migrated-plugins: in-tree plugins served by CSI
  std::vector<Driver> drivers;
  Json manifest;
};

// storage/v1 CSIDriver.
struct CsiDriver {
  ObjectMeta metadata;
  bool storage_capacity = false;  // the driver publishes CSIStorageCapacity
  Json manifest;
};

// storage/v1 VolumeAttachment, as far as queueing hints ask. Nothing here makes any, and no operator may give one.
struct VolumeAttachment {
  ObjectMeta metadata;
  std::string attacher;  // the CSI driver
};

// storage/v1 CSIStorageCapacity.
struct CsiStorageCapacity {
  ObjectMeta metadata;
  std::string storage_class_name;
  std::optional<LabelSelector> node_topology;  // none: no node
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
  Json manifest;
};

// core/v1 Service, read for PodTopologySpread's default constraints only.
struct Service {
  ObjectMeta metadata;
  Labels selector;  // empty selects nothing
  Json manifest;
};

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
  bool has_status = false;                  // the manifest says how many disruptions are allowed
  std::int32_t disruptions_allowed = 0;     // status.disruptionsAllowed
  std::vector<std::string> disrupted_pods;  // status.disruptedPods: names already counted
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
enum class Kind {
  pod,
  node,
  persistent_volume,
  persistent_volume_claim,
  storage_class,
  priority_class,
  namespace_,
  service,
  pod_disruption_budget,
  csi_node,
  csi_driver,
  csi_storage_capacity,
};
struct KindName {
  Kind kind;
  std::string_view name;         // "PersistentVolumeClaim"
  std::string_view plural;       // "persistentvolumeclaims"
  std::string_view short_name;   // "pvc"; empty: none
  std::string_view api_version;  // "v1", "storage.k8s.io/v1"
  bool namespaced;
};
const std::vector<KindName>& kinds();
const KindName& describe(Kind kind);
// By name, plural, singular lower case or short name ("po", "pvc"); null when unknown.
const KindName* find_kind(std::string_view text);

// What decoding found that is not wrong but was not expected: "spec.containers[0].imagee: unknown field".
using Warnings = std::vector<std::string>;

// Whether Kubernetes' validation is asked too: what must be there, which names and numbers are allowed, what excludes
// what. `off` asks only that each field has its type and the object a good name: for what was accepted before, under
// rules that may have been others, and for what was recorded elsewhere.
enum class Rules { enforced, off };

// Decode from Kubernetes JSON, as it stands: see set_defaults() for what the API server adds. Wrong types, missing
// names, bad quantities, names outside [a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?: Code::error, each reason starting with the
// path of the field ("spec.containers[0].resources.requests.memory: ..."). Unknown fields are warned of. `warnings` may
// be null.
Result<Pod> decode_pod(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Node> decode_node(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PersistentVolume> decode_persistent_volume(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PersistentVolumeClaim> decode_persistent_volume_claim(const Json& json, Warnings* warnings,
                                                             Rules rules = Rules::enforced);
Result<StorageClass> decode_storage_class(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PriorityClass> decode_priority_class(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Namespace> decode_namespace(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Service> decode_service(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PodDisruptionBudget> decode_pod_disruption_budget(const Json& json, Warnings* warnings,
                                                         Rules rules = Rules::enforced);
Result<CsiNode> decode_csi_node(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<CsiDriver> decode_csi_driver(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<CsiStorageCapacity> decode_csi_storage_capacity(const Json& json, Warnings* warnings,
                                                       Rules rules = Rules::enforced);

// True when `name` may be one topic level and an object's name.
bool is_valid_name(std::string_view name);

}  // namespace berth
