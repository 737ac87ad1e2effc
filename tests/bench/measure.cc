#include "tests/bench/measure.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <new>

namespace {

std::uint64_t allocated = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocated;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace berth::bench {

Spent& Spent::operator+=(const Spent& other) {
  ns += other.ns;
  allocations += other.allocations;
  instructions += other.instructions;
  return *this;
}

Spent Spent::operator-(const Spent& other) const {
  return {ns - other.ns, allocations - other.allocations, instructions - other.instructions};
}

Meter::Meter(bool instructions) {
  if (!instructions) return;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  counter_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));  // this process, any processor
}

Meter::~Meter() {
  if (counter_ >= 0) close(counter_);
}

Spent Meter::read() const {
  Spent spent;
  if (counter_ >= 0 && ::read(counter_, &spent.instructions, sizeof spent.instructions) < 0) spent.instructions = 0;
  spent.allocations = allocated;
  spent.ns = now_ns();
  return spent;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

double quantile_us(std::vector<std::int64_t> spans_ns, double part) {
  if (spans_ns.empty()) return 0;
  std::sort(spans_ns.begin(), spans_ns.end());
  const auto index = static_cast<std::size_t>(static_cast<double>(spans_ns.size() - 1) * part);
  return static_cast<double>(spans_ns[index]) / 1000;
}

}  // namespace berth::bench
