#include "firmware-host/gateway/memory_budget.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace berth {

bool MemoryBudget::note(std::uint64_t resident) {
  if (limit_ == 0) return false;
  full_ = resident >= (full_ ? limit_ - limit_ / 16 : limit_);
  return full_;
}

std::uint64_t MemoryBudget::left_for_cache(std::uint64_t resident, std::uint64_t cached) const {
  if (limit_ == 0 || resident == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t near = limit_ - limit_ / 8;
  const std::uint64_t others = resident - std::min(resident, cached);
  return near - std::min(near, others);
}

ResidentMemory::ResidentMemory() : file_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

ResidentMemory::~ResidentMemory() {
  if (file_ >= 0) ::close(file_);
}

// proc(5): pages, "size resident shared ...".
std::uint64_t ResidentMemory::bytes() const {
  std::array<char, 128> text{};
  const ssize_t length = file_ < 0 ? 0 : ::pread(file_, text.data(), text.size(), 0);
  const char* const end = text.data() + std::max<ssize_t>(length, 0);
  const char* const resident = std::find(static_cast<const char*>(text.data()), end, ' ');
  std::uint64_t pages = 0;
  if (resident != end) std::from_chars(resident + 1, end, pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void trim_freed_memory() { ::malloc_trim(0); }

std::uint64_t memory_of_machine() {
  struct sysinfo machine{};
  return ::sysinfo(&machine) == 0 ? std::uint64_t{machine.totalram} * machine.mem_unit : 0;
}

}  // namespace berth
