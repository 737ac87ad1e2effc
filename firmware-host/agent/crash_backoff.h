// CrashBackoff: how long a crashed container waits before it is started again. Pure functions of times.
//
// As the kubelet's (Kubernetes 1.35): pkg/kubelet/kubelet.go has backOffPeriod 10 s and MaxCrashLoopBackOff 300 s;
// doBackOff() of pkg/kubelet/kuberuntime/kuberuntime_manager.go asks client-go's util/flowcontrol/backoff.go:
// - a container that has no entry there is started at once, and Next() makes an entry of 10 s. So the first crash
//   costs nothing, and the following ones cost 10, 20, 40, 80, 160, 300, 300 ... seconds;
// - the wait is counted from the end of the run;
// - hasExpired(): the entry counts for nothing if the run ended more than twice the longest wait after the last start,
//   whatever the exit code was. A run of more than ten minutes thus begins the row again, with a start at once.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace berth {

struct CrashBackoff {
  Millis first_ms = 10'000;
  Millis longest_ms = 300'000;
  Millis healthy_ms = 600'000;  // a longer run begins the row again
};

class RestartDelay {
 public:
  // After a run from `started` to `ended`. 0: it is started again at once.
  Millis next(const CrashBackoff& backoff, Millis started, Millis ended);

 private:
  std::optional<Millis> entry_;  // what the next crash costs
};

// What a container in back-off is said to wait for, as doBackOff() says it; `pod` is "<name>_<namespace>(<uid>)"
// (pkg/kubelet/util/format).
std::string back_off_message(Millis delay, const std::string& container, const std::string& pod);

}  // namespace berth
