#include "core/scheduler/event_handlers.h"

#include "core/objects/object_events.h"

namespace berth {

namespace {

constexpr ClusterEvent kAssignedPodAdd{EventResource::assigned_pod, kAdd, "AssignedPodAdd"};
constexpr ClusterEvent kAssignedPodDelete{EventResource::assigned_pod, kDelete, "AssignedPodDelete"};

}  // namespace

void EventHandlers::pod_added(const std::shared_ptr<const Pod>& pod) { queue_.add(pod); }

void EventHandlers::pod_updated(const std::shared_ptr<const Pod>& old_pod, const std::shared_ptr<const Pod>& new_pod) {
  if (cache_.is_assumed(new_pod->uid())) {
    if (new_pod->metadata.deleting && !old_pod->metadata.deleting) assumed_pod_deleted(new_pod);
    return;
  }
  queue_.update(old_pod, new_pod);
  if (old_pod->nominated_node_name.empty() || old_pod->nominated_node_name == new_pod->nominated_node_name) return;
  // It counted as placed there for pods of its priority and below.
  wake_freed(*old_pod, {}, [&old_pod](const Pod& pod) { return pod.priority <= old_pod->priority; });
}

void EventHandlers::pod_deleted(const std::shared_ptr<const Pod>& pod) {
  queue_.remove(pod->uid());
  if (cache_.is_assumed(pod->uid())) {
    assumed_pod_deleted(pod);
  } else if (!pod->nominated_node_name.empty()) {
    wake_freed(*pod, {}, [&pod](const Pod& other) { return other.priority <= pod->priority; });
  }
}

void EventHandlers::pod_bound(const std::shared_ptr<const Pod>& pod, const std::string& node) {
  cache_.confirm(pod, node);
  queue_.remove(pod->uid());
  EventObjects objects;
  objects.new_pod = placed_on(node, *pod);
  queue_.move_all(kAssignedPodAdd, objects);
}

// One that waits on Permit is rejected and cleans up after itself; one further on is only uncounted, and its binding
// will fail.
void EventHandlers::assumed_pod_deleted(const std::shared_ptr<const Pod>& pod) {
  const std::string node = cache_.node_of(pod->uid()).value_or("");
  if (!waiting_pods_.reject(pod->uid(), "", "removed")) cache_.forget(pod->uid());
  wake_freed(*pod, node);
}

void EventHandlers::wake_freed(const Pod& pod, const std::string& node, const Queue::PreCheck& pre_check) {
  EventObjects objects;
  objects.old_pod = placed_on(node, pod);
  queue_.move_all(kAssignedPodDelete, objects, pre_check);
}

}  // namespace berth
