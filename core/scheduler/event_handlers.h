// EventHandlers: what the queue and the cache learn of pods, as upstream's informers tell them (kube-scheduler
// eventhandlers.go): pods without a node, and pods that got one; not of pods of an unknown profile.
#pragma once

#include <memory>
#include <string>

#include "core/cache/cache.h"
#include "core/framework/waiting_pods.h"
#include "core/queue/queue.h"

namespace berth {

class EventHandlers {
 public:
  // All outlive it.
  EventHandlers(Queue& queue, Cache& cache, WaitingPods& waiting_pods)
      : queue_(queue), cache_(cache), waiting_pods_(waiting_pods) {}

  void pod_added(const std::shared_ptr<const Pod>& pod);
  // `old_pod` is the version given last.
  void pod_updated(const std::shared_ptr<const Pod>& old_pod, const std::shared_ptr<const Pod>& new_pod);
  void pod_deleted(const std::shared_ptr<const Pod>& pod);
  void pod_bound(const std::shared_ptr<const Pod>& pod, const std::string& node);

  // The pod no longer takes, or keeps, resources on the node. `node`: where it was, or was nominated.
  void wake_freed(const Pod& pod, const std::string& node, const Queue::PreCheck& pre_check = {});

 private:
  void assumed_pod_deleted(const std::shared_ptr<const Pod>& pod);

  Queue& queue_;
  Cache& cache_;
  WaitingPods& waiting_pods_;
};

}  // namespace berth
