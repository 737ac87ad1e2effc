// LogLimits: how much of a container's output a device keeps.
#pragma once

#include <cstdint>

namespace berth {

struct LogLimits {
  static constexpr int kFilesMax = 20;
  std::uint64_t file_bytes = 256 * 1024;
  int files = 2;
  std::uint64_t bytes_per_second = 64 * 1024;  // 0: no limit. For kBurstSeconds of it at once
  static constexpr std::uint64_t kBurstSeconds = 16;
  bool operator==(const LogLimits&) const = default;
};

}  // namespace berth
