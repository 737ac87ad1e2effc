#include "core/placement/object_changes.h"

#include "core/api/volume.h"

namespace berth {

namespace {

// A binding, which changes both objects, lets no other claim be bound.
bool is_bindable_after(const ClusterEvent& event, const EventObjects& objects) {
  switch (event.resource) {
    case EventResource::storage_class: return true;
    case EventResource::persistent_volume_claim:
      return objects.new_claim == nullptr || objects.new_claim->volume_name.empty();
    case EventResource::persistent_volume:
      return objects.new_volume == nullptr || objects.new_volume->claim_ref.empty();
    default: return false;
  }
}

}  // namespace

void ObjectChanges::wake(const ClusterEvent& event, const EventObjects& objects) {
  queue_.move_all(event, objects);
  volumes_changed_ = volumes_changed_ || event.resource == EventResource::persistent_volume ||
                     event.resource == EventResource::persistent_volume_claim;
  claims_bindable_ = claims_bindable_ || is_bindable_after(event, objects);
}

void ObjectChanges::wake_unreserved(const PodPtr& pod) {
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
