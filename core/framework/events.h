// Cluster events and queueing hints (kube-scheduler framework/types.go, events.go): what may make a rejected pod fit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/api/objects.h"

namespace berth {

enum class EventResource {
  pod,
  assigned_pod,
  node,
  persistent_volume,
  persistent_volume_claim,
  storage_class,
  wildcard,
};

// Bit mask.
enum Action : std::uint32_t {
  kAdd = 1u << 0,
  kDelete = 1u << 1,
  kUpdateNodeAllocatable = 1u << 2,
  kUpdateNodeLabel = 1u << 3,
  kUpdateNodeTaint = 1u << 4,
  kUpdatePodLabel = 1u << 5,
  kUpdatePodScaleDown = 1u << 6,
  kUpdatePodToleration = 1u << 7,
  kUpdatePodSchedulingGatesEliminated = 1u << 8,
  kUpdate = 1u << 9,  // any other change of a volume object
  kAllActions = ~0u,
};

struct ClusterEvent {
  EventResource resource = EventResource::wildcard;
  std::uint32_t actions = kAllActions;
  std::string_view label;  // for logs and metrics: "NodeAdd"; static storage
  // True when `other` names this event's resource (or either is the wildcard) and shares an action. An event that
  // names pods also means assigned ones (kube-scheduler framework/types.go).
  bool matches(const ClusterEvent& other) const;
};

// The objects of an event; what does not apply is null.
struct EventObjects {
  std::shared_ptr<const Pod> old_pod, new_pod;
  std::shared_ptr<const Node> old_node, new_node;
  std::shared_ptr<const PersistentVolume> volume;
  std::shared_ptr<const PersistentVolumeClaim> claim;
  std::shared_ptr<const StorageClass> storage_class;
};

enum class Hint { queue, skip };
// Called for a pod that the plugin rejected. Null: always queue.
using HintFunction = std::function<Hint(const Pod& pod, const EventObjects& objects)>;

struct EventWithHint {
  ClusterEvent event;
  HintFunction hint;
};

}  // namespace berth
