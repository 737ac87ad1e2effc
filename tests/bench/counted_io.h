// Counts this process's write and sync system calls.
#pragma once

#include <cstdint>

namespace berth::bench {

struct DiskUse {
  std::uint64_t bytes = 0;  // passed to pwrite and write
  std::uint64_t syncs = 0;  // fsync and fdatasync
  DiskUse operator-(const DiskUse& before) const { return {bytes - before.bytes, syncs - before.syncs}; }
};

DiskUse disk_use();

}  // namespace berth::bench
