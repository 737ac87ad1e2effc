// MemoryBudget: whether the process holds as much of the machine's memory as it may. Beyond that the kernel would end
// it, and again at each start, which reads the same objects.
#pragma once

#include <cstdint>

namespace berth {

class MemoryBudget {
 public:
  // 0: without limit.
  explicit MemoryBudget(std::uint64_t bytes_max) : limit_(bytes_max) {}

  std::uint64_t limit() const { return limit_; }
  // True from the limit on, until a sixteenth of it is free: what was refused is read again then, and must not fill it
  // at once. `resident`: 0: unknown.
  bool note(std::uint64_t resident);

 private:
  std::uint64_t limit_;
  bool full_ = false;
};

// Of this process, as ps shows it (RSS): what the kernel took for it and has not got back. Asked once a turn, and so
// from a file that stays open: about a microsecond.
class ResidentMemory {
 public:
  ResidentMemory();
  ~ResidentMemory();
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;
  // 0: not known, without /proc.
  std::uint64_t bytes() const;

 private:
  int file_;
};

// Gives back to the kernel what was freed: the allocator keeps it, and it would count for ever. Costs a look at all of
// the heap.
void give_back_freed_memory();

// 0: not known.
std::uint64_t memory_of_machine();

}  // namespace berth
