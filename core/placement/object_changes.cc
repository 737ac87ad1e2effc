#include "core/placement/object_changes.h"

namespace berth {

void ObjectChanges::wake(const ClusterEvent& event, const EventObjects& objects) {
  queue_.move_all(event, objects);
  volumes_changed_ = volumes_changed_ || event.resource == EventResource::persistent_volume ||
                     event.resource == EventResource::persistent_volume_claim;
}

void ObjectChanges::wake_unreserved(const std::shared_ptr<const Pod>& pod) {
  if (pod == nullptr) return;
  for (const PodVolume& volume : pod->volumes) {
    if (volume.claim_name.empty() && !volume.ephemeral) continue;
    return wake(*event_of(Kind::persistent_volume, kUpdate), {});
  }
}

void ObjectChanges::erase(Kind kind, const std::string& key) {
  EventObjects objects;
  note_old(objects, objects_, kind, key);
  mirror_.superseded().supersede({kind, key}, std::nullopt);
  objects_.erase(kind, key);
  mirror_.publisher().mirror(kind, key);
  mirror_.publisher().mark(kind, key);
  if (const auto event = event_of(kind, kDelete)) wake(*event, objects);
}

}  // namespace berth
