#include "core/controllers/daemon_set/failed_pod_backoff.h"

#include <algorithm>

namespace berth {
namespace {

constexpr Millis kFirstDelay = 1000;
constexpr Millis kLongestDelay = Millis{15} * 60 * 1000;

bool is_old(Millis since, Millis now) { return now - since > 2 * kLongestDelay; }

}  // namespace

FailedPodBackoff::Key FailedPodBackoff::key_of_delay(const DaemonSet& set, const std::string& node) {
  return {std::string(set.metadata.uid), set.status.observed_generation, node};
}

std::optional<Millis> FailedPodBackoff::running(const DaemonSet& set, const std::string& node, Millis now) const {
  const auto found = delays_.find(key_of_delay(set, node));
  if (found == delays_.end() || now - found->second.since >= found->second.length) return std::nullopt;
  return found->second.length;
}

void FailedPodBackoff::start(const DaemonSet& set, const std::string& node, Millis now) {
  forget_old(now);
  Delay& delay = delays_[key_of_delay(set, node)];
  delay.length = delay.length == 0 ? kFirstDelay : std::min(2 * delay.length, kLongestDelay);
  delay.since = now;
}

void FailedPodBackoff::forget_old(Millis now) {
  std::erase_if(delays_, [&](const auto& each) { return is_old(each.second.since, now); });
}

}  // namespace berth
