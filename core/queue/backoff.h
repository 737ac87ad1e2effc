// Backoff: how long a pod that failed waits before it is tried again (kube-scheduler backend/queue/backoff_queue.go):
// 1, 2, 4, 8, 10, 10 ... seconds by default, truncated to the whole second.
#pragma once

#include "core/clock.h"
#include "core/framework/queued_pod.h"

namespace berth {

class Backoff {
 public:
  // `max_ms` 0 disables backoff. `second_at`: a point on the clock's scale at which a second of wall time begins.
  Backoff(Millis initial_ms, Millis max_ms, Millis second_at = 0)
      : initial_ms_(initial_ms), max_ms_(max_ms), phase_(((second_at % kWindowMs) + kWindowMs) % kWindowMs) {}

  // Depends on the number of consecutive errors if there are any, else of rejections; 0 without either.
  Millis duration(const QueuedPod& pod) const;
  // The start of the second in which the pod's backoff ends, on the clock's scale.
  Millis until(const QueuedPod& pod) const;
  // True for the whole of the second in which backoff ends.
  bool is_backing_off(const QueuedPod& pod, Millis now) const;
  // When a pod that backs off until `until` may be moved to active.
  static Millis free_at(Millis until) { return until + kWindowMs; }

 private:
  static constexpr Millis kWindowMs = 1000;
  Millis align(Millis time) const {
    const Millis offset = (time - phase_) % kWindowMs;
    return time - (offset < 0 ? offset + kWindowMs : offset);
  }
  Millis initial_ms_;
  Millis max_ms_;
  Millis phase_;
};

}  // namespace berth
