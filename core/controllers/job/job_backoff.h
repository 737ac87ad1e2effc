// How long a Job waits before it replaces pods that have failed (pkg/controller/job/backoff_utils.go).
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "core/controllers/controlled_pod.h"

namespace berth {

struct JobBackoff {
  std::int32_t failures = 0;  // since the last success, in the order in which pods ended
  Millis last_failure = 0;    // milliseconds since 1970

  // With pods that have ended since then.
  JobBackoff after(const std::vector<ControlledPodPtr>& succeeded, const std::vector<ControlledPodPtr>& failed) const;
  // Until when there are no new pods: 10 s after the last failure, and twice as long for each further one, 10 min at
  // most. 0 without failures.
  Millis until() const;
};

// The same for the index of a pod that has failed, by the failures before it.
Millis index_backoff_until(const ControlledPod& failed_pod);

}  // namespace berth
