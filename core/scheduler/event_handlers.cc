#include "core/scheduler/event_handlers.h"

#include "core/api/node.h"
#include "core/objects/object_events.h"

namespace berth {

namespace {

constexpr ClusterEvent kNodeAdd{EventResource::node, kAdd, "NodeAdd"};
constexpr ClusterEvent kNodeDelete{EventResource::node, kDelete, "NodeDelete"};
constexpr ClusterEvent kAssignedPodAdd{EventResource::assigned_pod, kAdd, "AssignedPodAdd"};
constexpr ClusterEvent kAssignedPodDelete{EventResource::assigned_pod, kDelete, "AssignedPodDelete"};

}  // namespace

void EventHandlers::node_set(const std::shared_ptr<const Node>& old_node, const std::shared_ptr<const Node>& new_node) {
  cache_.set_node(new_node);
  EventObjects objects;
  objects.old_node = old_node;
  objects.new_node = new_node;
  if (old_node == nullptr) return queue_.move_all(kNodeAdd, objects);
  for (const ClusterEvent& event : node_events(*old_node, *new_node)) queue_.move_all(event, objects);
}

void EventHandlers::node_deleted(const std::shared_ptr<const Node>& node) {
  cache_.remove_node(node->metadata.name);
  EventObjects objects;
  objects.old_node = node;
  queue_.move_all(kNodeDelete, objects);
}

void EventHandlers::pod_added(const PodPtr& pod) {
  needs_.note(*pod);
  queue_.add(pod);
}

void EventHandlers::pod_restored(const PodPtr& pod, const QueuePosition& kept) {
  needs_.note(*pod);
  queue_.restore(pod, kept);
}

void EventHandlers::pod_updated(const PodPtr& old_pod, const PodPtr& new_pod) {
  if (const auto node = cache_.node_of(new_pod->uid())) return placed_pod_updated(old_pod, new_pod, *node);
  queue_.update(old_pod, new_pod);
  if (old_pod->nominated_node_name.empty() || old_pod->nominated_node_name == new_pod->nominated_node_name) return;
  // It counted as placed there for pods of its priority and below.
  wake_freed(*old_pod, {}, [&old_pod](const Pod& pod) { return pod.priority <= old_pod->priority; });
}

// Others see an assumed pod as it was when it was decided on, until it is bound. One that is being deleted counts until
// its device has proven it gone, where upstream forgets it at once.
void EventHandlers::placed_pod_updated(const PodPtr& old_pod, const PodPtr& new_pod, const std::string& node) {
  if (cache_.is_assumed(new_pod->uid()) && !new_pod->metadata.deleting) return;
  cache_.update(new_pod);
  EventObjects objects;
  objects.old_pod = placed_on(node, *old_pod);
  objects.new_pod = placed_on(node, *new_pod);
  for (const ClusterEvent& event : pod_events(*objects.old_pod, *objects.new_pod)) queue_.move_all(event, objects);
}

void EventHandlers::pod_deleted(const PodPtr& pod) {
  queue_.remove(pod->uid());
  if (pod->nominated_node_name.empty()) return;
  wake_freed(*pod, {}, [&pod](const Pod& other) { return other.priority <= pod->priority; });
}

void EventHandlers::pod_bound(const PodPtr& pod, const std::string& node) {
  cache_.confirm(pod, node);
  queue_.remove(pod->uid());
  EventObjects objects;
  objects.new_pod = placed_on(node, *pod);
  queue_.move_all(kAssignedPodAdd, objects);
}

void EventHandlers::pod_left(const Pod& pod, const std::string& node) {
  cache_.remove(pod.uid());
  wake_freed(pod, node);
}

void EventHandlers::wake_freed(const Pod& pod, const std::string& node, const Queue::PreCheck& pre_check) {
  EventObjects objects;
  objects.old_pod = placed_on(node, pod);
  queue_.move_all(kAssignedPodDelete, objects, pre_check);
}

}  // namespace berth
