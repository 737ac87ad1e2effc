// NodeInfo: one node and what is placed on it, as the scheduling cycle reads it (kube-scheduler framework/types.go).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/api/quantity.h"
#include "core/cache/pod_list.h"
#include "core/shared.h"

namespace berth {

struct Node;

// Amounts in the units the scheduler counts in: cpu in thousandths, the rest in whole units (bytes).
struct Resources {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  std::int64_t allowed_pods = 0;                       // allocatable only
  Shared<std::map<std::string, std::int64_t>> scalar;  // extended resources and huge pages, by name
  bool operator==(const Resources&) const = default;
  void add(const Resources& other);
  void subtract(const Resources& other);
};

Resources to_resources(const ResourceList& list);
// What a pod asks of a node: max(init containers, containers + sidecars) + overhead
// (component-helpers resource/helpers.go PodRequests).
Resources pod_requests(const Pod& pod);
// The same, but a container that names no cpu counts as 100m and one that names no memory as 200 MB, so that scoring
// does not pile pods without requests onto one node (kube-scheduler util/pod_resources.go). For scores only.
Resources pod_requests_for_scoring(const Pod& pod);
// The same from the containers alone, without spec.resources: what upstream's scores count for the pod being placed
// (noderesources/resource_allocation.go), while pods on nodes count as above.
Resources container_requests_for_scoring(const Pod& pod);

// What a pod on a node counts for there: all of it follows from its spec.
struct PodAmounts {
  Resources requests;
  Resources for_scoring;
  bool takes_host_ports = false;
};
PodAmounts amounts_of(const Pod& pod);

// An image that a node has, as ImageLocality counts it.
struct ImageState {
  std::int64_t size_bytes = 0;  // as reported by the first node that had it
  std::int64_t nodes = 0;       // how many have it
};

struct NodeInfo {
  std::shared_ptr<const Node> node;  // null: the node is unknown, but pods on it are known ("ghost")
  PodList pods;
  // Of `pods`: those with any term of affinity or anti-affinity to pods, those with a required anti-affinity term, and
  // those that take ports of the node. Most nodes have none of them, and each state of a node has these lists.
  using FewPods = SharedPart<std::vector<PodPtr>>;
  FewPods pods_with_affinity;
  FewPods pods_with_required_anti_affinity;
  FewPods pods_with_host_ports;
  Resources allocatable;
  Resources requested;              // sum over pods and release-list entries
  Resources requested_for_scoring;  // the same sum of pod_requests_for_scoring()
  // Requests of release-list entries: the pod is gone, but they still count against the node (rule P6). Key: uid/epoch.
  Shared<std::map<std::string, Resources>> charges;
  std::int64_t generation = 0;  // grows with each change of this node
  // For each name of each image in node->images, in that order: as it was when a snapshot first took this state. As
  // upstream, a node does not learn that others have its image until it changes (NodeInfo.SnapshotConcrete).
  Shared<std::vector<ImageState>> images;
  std::int64_t images_version = -1;  // Cache's own: of `images`
  bool images_taken = false;         // the same: `images` are those of this generation
  std::uint32_t number = 0;          // the same: the node's

  const std::string& name() const;
  // What counts against the number of pods that the node takes.
  std::int64_t pods_and_charges() const { return static_cast<std::int64_t>(pods.size() + charges.size()); }
  // On this copy only; the cache does not learn of it. The pod is not there already, or is there, respectively.
  void add_pod(const PodPtr& pod);
  PodPtr remove_pod(std::string_view uid);
  // The same, for who knows what the pod counts for.
  void add_pod(const PodPtr& pod, const PodAmounts& amounts);
  PodPtr remove_pod(std::string_view uid, const PodAmounts& amounts);
};

// What is left of a resource; saturates. A request that is more than this, and more than nothing, does not fit.
std::int64_t free_amount(std::int64_t used, std::int64_t capacity);

// What does not fit, one for each resource. The one piece of admission arithmetic, shared by NodeResourcesFit and the
// device agent. `pods_now`: pods and release-list entries on the node already.
struct InsufficientResource {
  enum class Kind : std::uint8_t { pods, cpu, memory, ephemeral_storage, extended };
  Kind kind = Kind::pods;
  std::string_view name;  // "cpu", "memory", "ephemeral-storage", "pods", or an extended resource: then of `asked`
  std::int64_t requested = 0;
  std::int64_t used = 0;
  std::int64_t capacity = 0;
  bool unresolvable = false;  // asks more than the whole node has
  // As upstream words it: "Insufficient cpu", "Too many pods".
  std::string reason() const;
};
// Replaces what is in `missing`.
void fits_resources(const Resources& asked, const Resources& used, std::int64_t pods_now, const Resources& allocatable,
                    std::vector<InsufficientResource>& missing);

}  // namespace berth
