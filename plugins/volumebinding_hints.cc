#include "plugins/volumebinding_hints.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "plugins/volume_claims.h"
#include "plugins/volumebinding_provision.h"

namespace berth {

namespace {

Hint queue_if(bool matters) { return matters ? Hint::queue : Hint::skip; }

Hint after_class_change(const Pod&, const EventObjects& objects) {
  if (objects.old_class == nullptr || objects.new_class == nullptr) return Hint::queue;
  return queue_if(objects.old_class->allowed_topologies != objects.new_class->allowed_topologies);
}

Hint after_csi_node_change(const Pod&, const EventObjects& objects) {
  if (objects.old_csi_node == nullptr || objects.new_csi_node == nullptr) return Hint::queue;
  const auto migrated = [](const CsiNode& node) {
    const auto found = node.metadata.annotations.find("storage.alpha.kubernetes.io/migrated-plugins");
    return found == node.metadata.annotations.end() ? std::string() : found->second;
  };
  return queue_if(migrated(*objects.old_csi_node) != migrated(*objects.new_csi_node));
}

// A driver that no longer publishes capacities no longer restricts pods.
Hint after_driver_change(const Pod& pod, const EventObjects& objects) {
  if (objects.old_csi_driver == nullptr || objects.new_csi_driver == nullptr) return Hint::queue;
  const bool stopped = objects.old_csi_driver->storage_capacity && !objects.new_csi_driver->storage_capacity;
  const std::string& driver = objects.new_csi_driver->metadata.name;
  return queue_if(stopped && std::any_of(pod.volumes.begin(), pod.volumes.end(), [&driver](const PodVolume& volume) {
                    return volume.disk.type == DiskSource::Type::csi && volume.disk.id == driver;
                  }));
}

Hint after_capacity_change(const Pod&, const EventObjects& objects) {
  if (objects.old_csi_capacity == nullptr || objects.new_csi_capacity == nullptr) return Hint::queue;
  const std::optional<Quantity>& before = volume_limit(*objects.old_csi_capacity);
  const std::optional<Quantity>& after = volume_limit(*objects.new_csi_capacity);
  return queue_if(after && (!before || after->value() > before->value()));
}

}  // namespace

std::vector<EventWithHint> volume_binding_events() {
  return {{{EventResource::storage_class, kAdd | kUpdate, "StorageClassChange"}, after_class_change},
          {{EventResource::persistent_volume_claim, kAdd | kUpdate, "PvcChange"}, after_used_claim},
          {{EventResource::persistent_volume, kAdd | kUpdate, "PvChange"}, nullptr},
          {{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, nullptr},
          {{EventResource::csi_node, kAdd | kUpdate, "CSINodeChange"}, after_csi_node_change},
          {{EventResource::csi_driver, kUpdate, "CSIDriverUpdate"}, after_driver_change},
          {{EventResource::csi_storage_capacity, kAdd | kUpdate, "CSIStorageCapacityChange"}, after_capacity_change}};
}

}  // namespace berth
