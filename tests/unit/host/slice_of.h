// The slice of the processor that the kernel gives a process (firmware-host/processor_slices.h).
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace berth {

// In microseconds; 0: the kernel does not tell. It is the seventh member of what sched_getattr(2) writes, in two
// halves.
inline std::uint64_t slice_of(int pid) {
  std::array<std::uint32_t, 14> attributes{};
  if (syscall(SYS_sched_getattr, pid, attributes.data(), sizeof attributes, 0) != 0) return 0;
  return (attributes[6] | std::uint64_t{attributes[7]} << 32) / 1000;
}

}  // namespace berth
