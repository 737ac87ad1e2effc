// MemoryBudget: whether the process has reached its memory limit. Without one the kernel would kill it, and again after
// each restart, which reads the same objects.
#pragma once

#include <cstdint>

namespace berth {

class MemoryBudget {
 public:
  // 0: no limit.
  explicit MemoryBudget(std::uint64_t bytes_max) : limit_(bytes_max) {}

  std::uint64_t limit() const { return limit_; }
  // True once the limit is reached, until a sixteenth of it is free again: refused objects are then read again, and
  // must not fill it at once. `resident`: 0 if unknown.
  bool note(std::uint64_t resident);
  bool is_reached(std::uint64_t resident) const { return limit_ != 0 && resident >= limit_; }
  // How much a cache may take that takes `cached` of the resident bytes: what else there is and the cache together stay
  // below seven eighths of the limit, so that what it gives up is free again before the limit is reached.
  std::uint64_t left_for_cache(std::uint64_t resident, std::uint64_t cached) const;

 private:
  std::uint64_t limit_;
  bool full_ = false;
};

// Resident memory of this process (RSS). Read once a turn, so the file stays open: about a microsecond.
class ResidentMemory {
 public:
  ResidentMemory();
  ~ResidentMemory();
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;
  // 0: unknown, without /proc.
  std::uint64_t bytes() const;

 private:
  int file_;
};

// Returns freed memory, which the allocator keeps and which would count as resident, to the kernel. Scans the whole
// heap.
void trim_freed_memory();

// 0: unknown.
std::uint64_t memory_of_machine();

}  // namespace berth
