#include "core/framework/events.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/requests.h"

namespace berth {

std::string_view to_string(EventResource resource) {
  switch (resource) {
    case EventResource::pod: return "Pod";
    case EventResource::assigned_pod: return "AssignedPod";
    case EventResource::unscheduled_pod: return "UnschedulablePod";
    case EventResource::node: return "Node";
    case EventResource::persistent_volume: return "PersistentVolume";
    case EventResource::persistent_volume_claim: return "PersistentVolumeClaim";
    case EventResource::storage_class: return "StorageClass";
    case EventResource::csi_node: return "CSINode";
    case EventResource::csi_driver: return "CSIDriver";
    case EventResource::csi_storage_capacity: return "CSIStorageCapacity";
    case EventResource::volume_attachment: return "VolumeAttachment";
    case EventResource::wildcard: break;
  }
  return "*";
}

namespace {

bool is_wildcard(const ClusterEvent& event) {
  return event.resource == EventResource::wildcard && event.actions == kAllActions;
}

bool same_resource(EventResource mine, EventResource other) {
  return mine == other || mine == EventResource::wildcard ||
         (mine == EventResource::pod &&
          (other == EventResource::assigned_pod || other == EventResource::unscheduled_pod));
}

}  // namespace

bool ClusterEvent::matches(const ClusterEvent& other) const {
  if (is_wildcard(*this)) return true;
  return same_resource(resource, other.resource) && (actions & other.actions) != 0 && other.actions <= actions;
}

std::vector<ClusterEvent> node_events(const Node& before, const Node& after) {
  std::vector<ClusterEvent> events;
  const auto add = [&events](Action action, std::string_view label) {
    events.push_back({EventResource::node, action, label});
  };
  // Only uncordoning can make a pod fit; upstream reports it as a taint update.
  if (before.unschedulable && !after.unschedulable) add(kUpdateNodeTaint, "NodeUpdateNodeTaint");
  if (before.allocatable != after.allocatable) add(kUpdateNodeAllocatable, "NodeUpdateNodeAllocatable");
  if (before.metadata.labels != after.metadata.labels) add(kUpdateNodeLabel, "NodeUpdateNodeLabel");
  if (before.taints != after.taints) add(kUpdateNodeTaint, "NodeUpdateNodeTaint");
  if (before.conditions != after.conditions) add(kUpdateNodeCondition, "NodeUpdateNodeCondition");
  if (before.metadata.annotations != after.metadata.annotations) add(kUpdateNodeAnnotation, "NodeUpdateNodeAnnotation");
  if (before.declared_features != after.declared_features) {
    add(kUpdateNodeDeclaredFeature, "NodeUpdateNodeDeclaredFeature");
  }
  return events;
}

namespace {

// Some request was lowered, compared in thousandths, or removed (framework/events.go extractPodScaleDown).
bool asks_less(const Pod& before, const Pod& after) {
  const ResourceList were = total_requests(before, {});
  const ResourceList are = total_requests(after, {});
  return std::any_of(were.begin(), were.end(), [&are](const auto& item) {
    const auto now = are.find(item.first);
    return now == are.end() || now->second.milli_value() < item.second.milli_value();
  });
}

}  // namespace

std::vector<ClusterEvent> pod_events(const Pod& before, const Pod& after) {
  const bool assigned = !after.node_name.empty();
  std::vector<ClusterEvent> events;
  const auto add = [&](Action action, std::string_view of_assigned, std::string_view of_unscheduled) {
    events.push_back({assigned ? EventResource::assigned_pod : EventResource::unscheduled_pod, action,
                      assigned ? of_assigned : of_unscheduled});
  };
  if (before.metadata.labels != after.metadata.labels) {
    add(kUpdatePodLabel, "AssignedPodUpdatePodLabel", "UnschedulablePodUpdatePodLabel");
  }
  if (asks_less(before, after)) {
    add(kUpdatePodScaleDown, "AssignedPodUpdatePodScaleDown", "UnschedulablePodUpdatePodScaleDown");
  }
  if (!before.spec->scheduling_gates.empty() && after.spec->scheduling_gates.empty()) {
    add(kUpdatePodSchedulingGatesEliminated, "AssignedPodUpdatePodSchedulingGatesEliminated",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated");
  }
  if (before.spec->tolerations.size() != after.spec->tolerations.size()) {
    add(kUpdatePodToleration, "AssignedPodUpdatePodToleration", "UnschedulablePodUpdatePodToleration");
  }
  if (events.empty()) add(kUpdate, "AssignedPodUpdate", "UnschedulablePodUpdate");
  return events;
}

}  // namespace berth
