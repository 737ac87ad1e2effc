// Cluster events and queueing hints (kube-scheduler framework/types.go, events.go): what may make a rejected pod fit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"

namespace berth {

struct CsiDriver;
struct CsiNode;
struct CsiStorageCapacity;
struct Node;
struct PersistentVolume;
struct PersistentVolumeClaim;
struct StorageClass;
struct VolumeAttachment;

enum class EventResource {
  pod,              // every pod
  assigned_pod,     // with a node
  unscheduled_pod,  // without
  node,
  persistent_volume,
  persistent_volume_claim,
  storage_class,
  csi_node,
  csi_driver,
  csi_storage_capacity,
  volume_attachment,
  wildcard,
};
// The name that upstream prints: "AssignedPod", "PersistentVolumeClaim", "*". Static storage.
std::string_view to_string(EventResource resource);

// Bit mask, with upstream's values: ClusterEvent::matches compares them as numbers.
enum Action : std::uint32_t {
  kAdd = 1u << 0,
  kDelete = 1u << 1,
  kUpdateNodeAllocatable = 1u << 2,
  kUpdateNodeLabel = 1u << 3,
  kUpdateNodeTaint = 1u << 4,
  kUpdateNodeCondition = 1u << 5,
  kUpdateNodeAnnotation = 1u << 6,
  kUpdateNodeDeclaredFeature = 1u << 7,
  kUpdatePodLabel = 1u << 8,
  kUpdatePodScaleDown = 1u << 9,
  kUpdatePodToleration = 1u << 10,
  kUpdatePodSchedulingGatesEliminated = 1u << 11,
  kUpdatePodGeneratedResourceClaim = 1u << 12,
  kUpdate = 0x1ffcu,  // every update bit
  kAllActions = 0x1fffu,
};

struct ClusterEvent {
  EventResource resource = EventResource::wildcard;
  std::uint32_t actions = kAllActions;
  std::string_view label;  // for logs and metrics: "NodeAdd"; static storage
  // For a registered event: whether it matches the incoming event `other`. A registered wildcard matches everything;
  // otherwise the resource must be the same (`pod` includes assigned and unscheduled ones), at least one action shared,
  // and `other` no broader than the registered event (kube-scheduler framework/types.go MatchClusterEvents).
  bool matches(const ClusterEvent& other) const;
};

// The objects of an event; null where not applicable (old_* of an Add, new_* of a Delete).
struct EventObjects {
  PodPtr old_pod, new_pod;
  std::shared_ptr<const Node> old_node, new_node;
  std::shared_ptr<const PersistentVolume> old_volume, new_volume;
  std::shared_ptr<const PersistentVolumeClaim> old_claim, new_claim;
  std::shared_ptr<const StorageClass> old_class, new_class;
  std::shared_ptr<const CsiNode> old_csi_node, new_csi_node;
  std::shared_ptr<const CsiDriver> old_csi_driver, new_csi_driver;
  std::shared_ptr<const CsiStorageCapacity> old_csi_capacity, new_csi_capacity;
  std::shared_ptr<const VolumeAttachment> old_attachment, new_attachment;
};

enum class Hint { queue, skip };
// Called for a pod that the plugin rejected. Null: always queue.
using HintFunction = std::function<Hint(const Pod& pod, const EventObjects& objects)>;

struct EventWithHint {
  ClusterEvent event;
  HintFunction hint;
};

// The events for a change of a node or pod, in upstream's order (framework/events.go NodeSchedulingPropertiesChange,
// PodSchedulingPropertiesChange). May be empty for nodes; for pods a change of any other property is a general Update.
std::vector<ClusterEvent> node_events(const Node& before, const Node& after);
std::vector<ClusterEvent> pod_events(const Pod& before, const Pod& after);

}  // namespace berth
