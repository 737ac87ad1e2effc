// How much of what containers write a device keeps.
#pragma once

#include <cstdint>

namespace berth {

// Of each container.
struct LogLimits {
  static constexpr int kFilesMax = 20;
  std::uint64_t file_bytes = 256 * 1024;
  int files = 2;
  std::uint64_t bytes_per_second = 64 * 1024;  // 0: no limit. For kBurstSeconds of it at once
  static constexpr std::uint64_t kBurstSeconds = 16;
  bool operator==(const LogLimits&) const = default;
};

// Of all of them together.
struct DeviceLogLimits {
  static constexpr std::int32_t kKeptPodsMax = 10'000;
  std::int32_t kept_pods = 64;                  // that have ended and were released (output_files.h)
  std::uint64_t kept_bytes = 16 * 1024 * 1024;  // of these
  std::uint64_t total_bytes = 0;                // of all pods (log_budget.h); 0: no limit
  bool operator==(const DeviceLogLimits&) const = default;
};

}  // namespace berth
