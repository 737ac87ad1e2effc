#include "firmware-host/agent/eviction/pressure_watch.h"

#include <algorithm>

namespace berth {

namespace {

std::string condition_of(EvictionSignal signal) {
  if (signal == EvictionSignal::memory_available) return kMemoryPressure;
  return is_of_disk(signal) ? kDiskPressure : kPidPressure;
}

}  // namespace

bool is_of_disk(EvictionSignal signal) {
  return signal == EvictionSignal::nodefs_available || signal == EvictionSignal::nodefs_inodes_free;
}

void PressureWatch::observe(const Observations& observed, Millis now) {
  now_ = now;
  due_.reset();
  for (const auto* thresholds : {&settings_.hard, &settings_.soft}) {
    for (const auto& [signal, threshold] : *thresholds) {
      look({signal, thresholds == &settings_.soft}, threshold, observed, now);
    }
  }
}

// A threshold that was met stays met until as much more is free as is to be reclaimed.
void PressureWatch::look(const Key& key, const EvictionThreshold& threshold, const Observations& observed, Millis now) {
  const auto found = observed.find(key.first);
  if (found == observed.end()) {
    met_since_.erase(key);
    return;
  }
  const auto& [available, capacity] = found->second;
  const std::int64_t least = threshold.of(capacity);
  std::int64_t wanted = least;
  const auto reclaim = settings_.minimum_reclaim.find(key.first);
  if (reclaim != settings_.minimum_reclaim.end() && met_since_.contains(key)) wanted += reclaim->second.of(capacity);
  if (available >= wanted) {
    met_since_.erase(key);
    return;
  }
  seen_[condition_of(key.first)] = now;
  const Millis since = met_since_.try_emplace(key, now).first->second;
  const auto grace = settings_.soft_grace_ms.find(key.first);
  if (key.second && grace != settings_.soft_grace_ms.end() && now - since < grace->second) return;
  const Due due{key.first, !key.second, available, least};
  if (!due_ || due.signal < due_->signal) due_ = due;
}

bool PressureWatch::is_disk_short() const {
  return std::any_of(met_since_.begin(), met_since_.end(), [](const auto& met) { return is_of_disk(met.first.first); });
}

std::vector<std::string> PressureWatch::conditions() const {
  std::vector<std::string> held;
  for (const auto& [type, at] : seen_) {
    if (at == now_ || now_ - at < settings_.transition_ms) held.push_back(type);
  }
  return held;
}

}  // namespace berth
