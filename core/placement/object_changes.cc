#include "core/placement/object_changes.h"

namespace berth {

void ObjectChanges::wake(const ClusterEvent& event, const EventObjects& objects) {
  queue_.move_all(event, objects);
  volumes_changed_ = volumes_changed_ || event.resource == EventResource::persistent_volume ||
                     event.resource == EventResource::persistent_volume_claim;
}

void ObjectChanges::wake_updated(const Pod& before, const Pod& after, const std::string& node) {
  EventObjects objects;
  objects.old_pod = placed_on(node, before);
  objects.new_pod = placed_on(node, after);
  for (const ClusterEvent& event : pod_events(*objects.old_pod, *objects.new_pod)) wake(event, objects);
}

void ObjectChanges::wake_freed(const std::shared_ptr<const Pod>& pod, const std::string& node) {
  if (pod == nullptr) return;
  EventObjects objects;
  objects.old_pod = placed_on(node, *pod);
  wake({EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, objects);
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
