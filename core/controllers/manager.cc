#include "core/controllers/manager.h"

#include <algorithm>
#include <utility>

namespace berth {

ControllerManager::ControllerManager(ClusterAccess& cluster, std::vector<std::unique_ptr<Controller>> controllers)
    : cluster_(cluster) {
  for (std::unique_ptr<Controller>& each : controllers) running_.push_back({std::move(each), {}});
}

void ControllerManager::observe(const ObjectChange& change) {
  for (Running& each : running_) each.controller->observe(change, cluster_, each.queue);
}

bool ControllerManager::sync_next() {
  for (Running& each : running_) {
    const std::optional<ObjectKey> key = each.queue.take();
    if (!key) continue;
    const SyncResult result = each.controller->sync(*key, cluster_);
    const Millis now = cluster_.now();
    if (!result.status.is_success() || result.retry) each.queue.add_after_failure(*key, now);
    if (result.status.is_success()) each.queue.forget(*key);
    if (result.wake_at) each.queue.add_at(*key, *result.wake_at, now);
    return true;
  }
  return false;
}

void ControllerManager::wake() {
  for (Running& each : running_) each.queue.wake(cluster_.now());
}

std::optional<Millis> ControllerManager::next_wake() const {
  std::optional<Millis> next;
  for (const Running& each : running_) {
    const std::optional<Millis> at = each.queue.next_wake();
    if (at) next = std::min(next.value_or(*at), *at);
  }
  return next;
}

}  // namespace berth
