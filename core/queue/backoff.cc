#include "core/queue/backoff.h"

namespace berth {

Millis Backoff::duration(const QueuedPod& pod) const {
  const int count = pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  if (count <= 0) return 0;
  const int shift = count - 1;
  if (shift >= 63 || initial_ms_ > (max_ms_ >> shift)) return max_ms_;
  return initial_ms_ << shift;
}

Millis Backoff::until(const QueuedPod& pod) const { return align(pod.timestamp + duration(pod)); }

bool Backoff::is_backing_off(const QueuedPod& pod, Millis now) const {
  return duration(pod) > 0 && now < free_at(until(pod));
}

}  // namespace berth
