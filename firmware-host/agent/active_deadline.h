// spec.activeDeadlineSeconds: how long a pod may be active on its node, over all of its keepers
// (pkg/kubelet/active_deadline.go).
#pragma once

#include <string>

#include "core/clock.h"

namespace berth {

// When a pod began, as its state remembers it.
struct ActiveSince {
  std::string boot;  // id of the boot in which `at` counts; empty: not remembered
  Millis at = 0;     // on Clock::now()'s scale
};

// When it began, on the scale of this boot. After a reboot only the wall clock tells, and only if it was set both when
// the pod began (`started_at`, RFC 3339) and now; otherwise the pod counts as beginning now.
ActiveSince active_since(const ActiveSince& known, const std::string& started_at, const std::string& boot,
                         const Clock& clock);

}  // namespace berth
