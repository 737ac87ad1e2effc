// What this process asks of the disk: its calls of write and sync, counted on their way to the kernel.
#pragma once

#include <cstdint>

namespace berth::bench {

struct DiskUse {
  std::uint64_t bytes = 0;  // given to pwrite and write
  std::uint64_t syncs = 0;  // fsync and fdatasync
  DiskUse operator-(const DiskUse& before) const { return {bytes - before.bytes, syncs - before.syncs}; }
};

DiskUse disk_use();

}  // namespace berth::bench
