#include "core/controllers/rollout/pod_health.h"

#include <algorithm>

namespace berth {

void set_health(const ControlledPod& pod, RolloutNode& node) {
  node.updated = true;
  node.created = pod.metadata.created;
  node.ready = pod.ready;
  node.ready_changed = pod.ready_since;
  // A restart may be over before anybody has seen that the pod was not ready.
  if (pod.ready) {
    node.ready_changed =
        std::max(pod.ready_since.value_or(pod.metadata.created.value_or(0)), pod.last_started.value_or(0));
  }
  node.restarts = std::max(pod.restarts, pod.sidecar_restarts);
  node.has_ended = pod.phase == PodPhase::failed;
}

}  // namespace berth
