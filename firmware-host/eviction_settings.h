// EvictionSettings: the section `eviction` of berth-agent's configuration: from where on a device is short of memory,
// disk or processes, and ends pods (pkg/kubelet/eviction/api/types.go; KubeletConfiguration, evictionHard and so on).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/json/field_reader.h"
#include "core/status.h"

namespace berth {

// In the order in which they are looked at (byEvictionPriority): memory first.
enum class EvictionSignal : std::uint8_t { memory_available, nodefs_available, nodefs_inodes_free, pid_available };

std::string_view to_string(EvictionSignal signal);  // "memory.available"

// An amount of bytes, inodes or processes, or a share of what there is; of both the lesser one.
struct EvictionThreshold {
  std::int64_t amount = 0;
  double percent = 0;

  std::int64_t of(std::int64_t capacity) const {
    const auto share = static_cast<std::int64_t>(static_cast<double>(capacity) * percent / 100);
    return percent <= 0 ? amount : amount <= 0 ? share : std::min(share, amount);
  }
  bool operator==(const EvictionThreshold&) const = default;
};
using EvictionThresholds = std::map<EvictionSignal, EvictionThreshold>;

// "100Mi" or "10%". Zero: none.
Result<EvictionThreshold> parse_threshold(const std::string& text);

// eviction: {hard, soft, soft_grace_seconds, minimum_reclaim, max_pod_grace_seconds, pressure_transition_seconds}
struct EvictionSettings {
  // The kubelet's, without those of a file system of images, which here is that of everything else; of memory, as a
  // machine of 256 MiB may never have 100 MiB, no more than a twentieth.
  EvictionThresholds hard = {{EvictionSignal::memory_available, {100 << 20, 5}},
                             {EvictionSignal::nodefs_available, {0, 10}},
                             {EvictionSignal::nodefs_inodes_free, {0, 5}}};
  EvictionThresholds soft;
  std::map<EvictionSignal, Millis> soft_grace_ms;  // each of `soft` has one
  EvictionThresholds minimum_reclaim;              // so much more than the threshold is to be free in the end
  Millis max_pod_grace_ms = 0;                     // of pods that are ended at a soft threshold
  Millis transition_ms = 300'000;                  // a pressure is reported for so long after it was seen last

  bool uses(EvictionSignal signal) const { return hard.contains(signal) || soft.contains(signal); }
  bool operator==(const EvictionSettings&) const = default;
};

void read_eviction(FieldReader& reader, EvictionSettings& out);

}  // namespace berth
