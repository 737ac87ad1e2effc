#include "core/controllers/job/job_backoff.h"

#include <algorithm>

#include "core/controllers/job/job_pods.h"

namespace berth {
namespace {

Millis latest_end(const std::vector<ControlledPodPtr>& pods) {
  Millis latest = end_of(*pods.front());
  for (const ControlledPodPtr& pod : pods) latest = std::max(latest, end_of(*pod));
  return latest;
}

}  // namespace

JobBackoff JobBackoff::after(const std::vector<ControlledPodPtr>& succeeded,
                             const std::vector<ControlledPodPtr>& failed) const {
  JobBackoff next = succeeded.empty() ? *this : JobBackoff();
  const Millis success = succeeded.empty() ? 0 : latest_end(succeeded);
  for (const ControlledPodPtr& pod : failed) {
    if (succeeded.empty() || end_of(*pod) > success) ++next.failures;
  }
  if (!failed.empty() && next.failures > 0) next.last_failure = latest_end(failed);
  return next;
}

Millis JobBackoff::until() const {
  constexpr Millis kFirst = 10'000;
  constexpr Millis kLongest = 600'000;
  constexpr int kDoublingsMax = 6;  // 640 s
  if (failures == 0) return 0;
  return last_failure + std::min(kFirst << std::min(failures - 1, kDoublingsMax), kLongest);
}

Millis index_backoff_until(const ControlledPod& failed_pod) {
  return JobBackoff{.failures = all_failures_before(failed_pod) + 1, .last_failure = end_of(failed_pod)}.until();
}

}  // namespace berth
