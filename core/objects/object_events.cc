#include "core/objects/object_events.h"

#include <array>

#include "core/check.h"

namespace berth {

namespace {

struct KindEvents {
  Kind kind;
  EventResource resource;
  std::string_view added, updated, deleted;  // labels
};

constexpr std::array kEvents{
    KindEvents{Kind::persistent_volume, EventResource::persistent_volume, "PersistentVolumeAdd",
               "PersistentVolumeUpdate", "PersistentVolumeDelete"},
    KindEvents{Kind::persistent_volume_claim, EventResource::persistent_volume_claim, "PersistentVolumeClaimAdd",
               "PersistentVolumeClaimUpdate", "PersistentVolumeClaimDelete"},
    KindEvents{Kind::storage_class, EventResource::storage_class, "StorageClassAdd", "StorageClassUpdate",
               "StorageClassDelete"},
    KindEvents{Kind::csi_node, EventResource::csi_node, "CSINodeAdd", "CSINodeUpdate", "CSINodeDelete"},
    KindEvents{Kind::csi_driver, EventResource::csi_driver, "CSIDriverAdd", "CSIDriverUpdate", "CSIDriverDelete"},
    KindEvents{Kind::csi_storage_capacity, EventResource::csi_storage_capacity, "CSIStorageCapacityAdd",
               "CSIStorageCapacityUpdate", "CSIStorageCapacityDelete"},
};

enum class Side { before, after };

void note(EventObjects& to, Side side, const Objects& objects, Kind kind, const std::string& key) {
  const bool old = side == Side::before;
  switch (kind) {
    case Kind::persistent_volume: (old ? to.old_volume : to.new_volume) = objects.volume(key); break;
    case Kind::persistent_volume_claim: (old ? to.old_claim : to.new_claim) = objects.claim(key); break;
    case Kind::storage_class: (old ? to.old_class : to.new_class) = objects.storage_class(key); break;
    case Kind::csi_node: (old ? to.old_csi_node : to.new_csi_node) = objects.csi_node(key); break;
    case Kind::csi_driver: (old ? to.old_csi_driver : to.new_csi_driver) = objects.csi_driver(key); break;
    case Kind::csi_storage_capacity:
      (old ? to.old_csi_capacity : to.new_csi_capacity) = objects.find<CsiStorageCapacity>(key);
      break;
    default: break;
  }
}

}  // namespace

std::optional<ClusterEvent> event_of(Kind kind, Action change) {
  for (const KindEvents& events : kEvents) {
    if (events.kind != kind) continue;
    if (change == kAdd) return ClusterEvent{events.resource, kAdd, events.added};
    if (change == kDelete) return ClusterEvent{events.resource, kDelete, events.deleted};
    CHECK(change == kUpdate);
    return ClusterEvent{events.resource, kUpdate, events.updated};
  }
  return std::nullopt;
}

void note_old(EventObjects& to, const Objects& objects, Kind kind, const std::string& key) {
  note(to, Side::before, objects, kind, key);
}

void note_new(EventObjects& to, const Objects& objects, Kind kind, const std::string& key) {
  note(to, Side::after, objects, kind, key);
}

PodPtr placed_on(const std::string& node, const Pod& pod) {
  auto placed = make_counted<Pod>(pod);
  placed->node_name = node;
  return placed;
}

PodPtr placed_on(const std::string& node, const std::string& uid, const Resources& charge) {
  Pod pod;
  pod.metadata.uid = uid;
  Container& container = pod.spec.edit().containers.emplace_back();
  container.requests["cpu"] = Quantity::from_milli(charge.milli_cpu);
  container.requests["memory"] = Quantity(charge.memory);
  container.requests["ephemeral-storage"] = Quantity(charge.ephemeral_storage);
  for (const auto& [name, amount] : charge.scalar) container.requests[name] = Quantity(amount);
  return placed_on(node, pod);
}

}  // namespace berth
