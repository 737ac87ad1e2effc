#include "core/framework/events.h"

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

}  // namespace berth
