#include "core/controllers/controlled_pod.h"

#include <algorithm>

namespace berth {

bool is_finished(const ControlledPod& pod) { return pod.phase == PodPhase::succeeded || pod.phase == PodPhase::failed; }

bool is_active(const ControlledPod& pod) { return !is_finished(pod) && !pod.metadata.deletion; }

bool is_terminating(const ControlledPod& pod) { return !is_finished(pod) && pod.metadata.deletion; }

int deletion_rank(PodPhase phase) {
  if (phase == PodPhase::unknown) return 1;
  return phase == PodPhase::running ? 2 : 0;
}

bool is_available(const ControlledPod& pod, std::int32_t min_ready_seconds, Millis now) {
  if (!pod.ready) return false;
  if (min_ready_seconds == 0) return true;
  return pod.ready_since && *pod.ready_since + Millis{1000} * min_ready_seconds <= now;
}

std::optional<Millis> next_availability(const std::vector<ControlledPodPtr>& pods, std::int32_t min_ready_seconds,
                                        Millis now) {
  std::optional<Millis> next;
  for (const ControlledPodPtr& pod : pods) {
    if (!pod->ready || !pod->ready_since) continue;
    const Millis at = *pod->ready_since + Millis{1000} * min_ready_seconds;
    if (at > now) next = std::min(next.value_or(at), at);
  }
  return next;
}

}  // namespace berth
