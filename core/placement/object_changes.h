// ObjectChanges: tells the scheduling queue and the mirror of changes of objects, as informers do (kube-scheduler
// eventhandlers.go). Of nodes and pods, core/scheduler/event_handlers.h tells.
#pragma once

#include <string>
#include <utility>

#include "core/api/pod.h"
#include "core/mirror/mirror.h"
#include "core/objects/object_events.h"
#include "core/queue/queue.h"

namespace berth {

class ObjectChanges {
 public:
  // All outlive it.
  ObjectChanges(Objects& objects, Mirror& mirror, Queue& queue) : objects_(objects), mirror_(mirror), queue_(queue) {}

  // Moves the pods that the event may have made schedulable.
  void wake(const ClusterEvent& event, const EventObjects& objects);
  // What was reserved for the pod's claims, and never written, is free again. Upstream's waiting pods learn of it
  // through the volume objects, which changed there.
  void wake_unreserved(const PodPtr& pod);
  // A pool of a device has more room than before.
  void wake_capacity() { wake({EventResource::csi_storage_capacity, kUpdate, "CSIStorageCapacityUpdate"}, {}); }
  // Erases an object that is no pod: topics are cleared, and waiting pods hear of it.
  void erase(Kind kind, const std::string& key);
  // A volume or claim has changed since the last call.
  bool take_volumes_changed() { return std::exchange(volumes_changed_, false); }
  // Since the start or the last call, a claim has become unbound or gone, a volume free, or a class another one.
  bool take_claims_bindable() { return std::exchange(claims_bindable_, false); }

 private:
  Objects& objects_;
  Mirror& mirror_;
  Queue& queue_;
  bool volumes_changed_ = false;
  bool claims_bindable_ = true;
};

}  // namespace berth
