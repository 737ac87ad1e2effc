// EventHandlers: what the queue and the cache learn of nodes and pods, as upstream's informers tell them
// (kube-scheduler eventhandlers.go). Whoever changes a node or a pod tells it here: the gateway, the replay of recorded
// cases and the benchmarks alike. Not told are pods of an unknown profile.
#pragma once

#include <memory>
#include <string>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/queue/queue.h"
#include "core/scheduler/needs.h"

namespace berth {

class EventHandlers {
 public:
  // Both outlive it.
  EventHandlers(Queue& queue, Cache& cache) : queue_(queue), cache_(cache) {}

  // The node came, when `old_node` is null, or has changed.
  void node_set(const std::shared_ptr<const Node>& old_node, const std::shared_ptr<const Node>& new_node);
  void node_deleted(const std::shared_ptr<const Node>& node);

  // A new pod that needs a node; one that needed it before a restart.
  void pod_added(const PodPtr& pod);
  void pod_restored(const PodPtr& pod, const QueuePosition& kept);
  // `old_pod` is the version given last. Wherever the pod is.
  void pod_updated(const PodPtr& old_pod, const PodPtr& new_pod);
  // A pod without a node is gone.
  void pod_deleted(const PodPtr& pod);
  // The node has the pod.
  void pod_bound(const PodPtr& pod, const std::string& node);
  // The node has it no more, or it has finished there: what it took is free.
  void pod_left(const Pod& pod, const std::string& node);

  // Of the pods that were given.
  Snapshot::Needs needs() const { return needs_.needs(); }

  // The pod no longer takes, or keeps, resources on the node. `node`: where it was, or was nominated.
  void wake_freed(const Pod& pod, const std::string& node, const Queue::PreCheck& pre_check = {});

 private:
  void placed_pod_updated(const PodPtr& old_pod, const PodPtr& new_pod, const std::string& node);

  Queue& queue_;
  Cache& cache_;
  NeedsOfPods needs_;
};

}  // namespace berth
