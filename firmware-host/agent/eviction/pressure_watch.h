// PressureWatch: from what is free to what the node is short of, and when a pod is to be ended for that
// (pkg/kubelet/eviction/eviction_manager.go, synchronize; helpers.go, thresholdsMet and so on). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "firmware-host/agent/eviction/node_stats.h"
#include "firmware-host/eviction_settings.h"

namespace berth {

inline constexpr const char* kMemoryPressure = "MemoryPressure";
inline constexpr const char* kDiskPressure = "DiskPressure";
inline constexpr const char* kPidPressure = "PIDPressure";

bool is_of_disk(EvictionSignal signal);

class PressureWatch {
 public:
  // A threshold that has been met for its grace period.
  struct Due {
    EvictionSignal signal;
    bool is_hard;
    std::int64_t available;
    std::int64_t threshold;
  };

  explicit PressureWatch(EvictionSettings settings) : settings_(std::move(settings)) {}

  void observe(const Observations& observed, Millis now);
  // The first of those that are due: memory before disk before processes, hard before soft.
  const std::optional<Due>& due() const { return due_; }
  // A threshold of the disk is met, due or not.
  bool is_disk_short() const;
  // Types of conditions that hold: seen now, or less than the transition period ago.
  std::vector<std::string> conditions() const;

 private:
  using Key = std::pair<EvictionSignal, bool>;  // true: soft
  void look(const Key& key, const EvictionThreshold& threshold, const Observations& observed, Millis now);

  const EvictionSettings settings_;
  Millis now_ = 0;
  std::map<Key, Millis> met_since_;
  std::map<std::string, Millis> seen_;  // by condition: when last
  std::optional<Due> due_;
};

}  // namespace berth
