#include "firmware-host/agent/crash_backoff.h"

#include <algorithm>

#include "core/framework/waiting_pods.h"

namespace berth {

Millis RestartDelay::next(const CrashBackoff& backoff, Millis started, Millis ended) {
  if (!entry_ || ended - started > backoff.healthy_ms) {
    entry_ = backoff.first_ms;
    return 0;
  }
  const Millis delay = *entry_;
  entry_ = std::min(delay * 2, backoff.longest_ms);
  return delay;
}

std::string back_off_message(Millis delay, const std::string& container, const std::string& pod) {
  return "back-off " + duration_text(delay) + " restarting failed container=" + container + " pod=" + pod;
}

}  // namespace berth
