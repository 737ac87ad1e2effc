// Pod: a core/v1 Pod, decoded. Field names are Kubernetes' own in snake_case; fields that scheduling does not use are
// only in the manifest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/disk_source.h"
#include "core/api/features.h"
#include "core/api/host_port.h"
#include "core/api/manifest.h"
#include "core/api/metadata.h"
#include "core/api/quantity.h"
#include "core/api/selector.h"
#include "core/api/taint.h"
#include "core/counted.h"
#include "core/optional_time.h"
#include "core/shared.h"
#include "core/text.h"

namespace berth {

struct Container {
  std::string name;
  std::string image;
  std::vector<HostPort> host_ports;
  std::vector<HostPort> own_ports;  // ports without hostPort; `port` is containerPort
  ResourceList requests;
  ResourceList limits;
  bool restart_always = false;  // init containers only: a sidecar
  bool operator==(const Container&) const = default;
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
  std::vector<std::string> namespaces;              // empty, without a selector: the pod's own
  std::optional<LabelSelector> namespace_selector;  // empty matches every namespace
  std::string topology_key;
  // As in the manifest; set_defaults() merges them into label_selector, as the API server does. Plugins read
  // label_selector only.
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

// spec.resourceClaims
struct PodResourceClaim {
  std::string name;
  std::string claim_name;     // resourceClaimName
  std::string template_name;  // resourceClaimTemplateName; one of the two is empty
  bool operator==(const PodResourceClaim&) const = default;
};

// What the pods of a workload have alike, and pods of many workloads too. What ties a pod to its own node or claims is
// not here: each would have a copy of the rest.
struct PodSpec {
  Text scheduler_name = Text::common("default-scheduler");
  bool host_network = false;
  bool has_unknown_fields = false;  // in its manifest: shown in its status
  bool never_preempts = false;      // spec.preemptionPolicy is Never
  Shared<std::vector<TopologySpreadConstraint>> topology_spread_constraints;
  Shared<std::vector<Toleration>> tolerations;
  Shared<std::vector<std::string>> scheduling_gates;
  Shared<std::vector<Container>> containers;
  Shared<std::vector<Container>> init_containers;
  Shared<ResourceList> requests;  // spec.resources.requests, at pod level: cpu, memory and huge pages
  ResourceList limits;            // spec.resources.limits
  Shared<ResourceList> overhead;
  std::vector<PodResourceClaim> resource_claims;
  Shared<std::vector<Need>> needs;  // of the runtime
  std::int64_t termination_grace_period_seconds = 30;
  bool operator==(const PodSpec&) const = default;
};

// Kept small: parts that are equal in the pods of a workload are shared after share_parts() or unpack_pod() (packed.h).
struct Pod {
  [[no_unique_address]] ObjectMeta metadata;  // what follows begins in its padding
  // Condition DisruptionTarget is True with reason PreemptionByScheduler: the pod is being preempted.
  bool preempted = false;
  Users users;
  std::int32_t priority = 0;
  Text node_name;  // spec.nodeName: requires that node (NodeName)
  SharedPart<PodSpec> spec;
  Shared<Labels> node_selector;
  Shared<Affinity> affinity;
  Shared<std::vector<PodVolume>> volumes;
  Text nominated_node_name;  // status.nominatedNodeName
  Text shape;                // of the manifest, see manifest()
  // status.startTime, milliseconds since 1970; none: not started.
  OptionalTime start_time;

  const Text& uid() const { return metadata.uid; }
  // The complete object as accepted. It is stored as a shape (shape.h) that the pods of a workload share: its text with
  // markers for name and uid, which are filled in from `metadata`.
  Manifest manifest() const;
  void set_manifest(std::string_view text);
};
// A chunk of 128 bytes of the heap.
static_assert(sizeof(void*) < 8 || sizeof(Pod) <= 120);
using PodPtr = CountedPtr<const Pod>;

}  // namespace berth
