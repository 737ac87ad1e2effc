// The cost of a run: time (monotonic clock), allocations, instructions, resident memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::bench {

// A reading of the meter, or the difference of two.
struct Spent {
  std::int64_t ns = 0;
  std::uint64_t allocations = 0;   // calls of operator new
  std::uint64_t instructions = 0;  // in user space

  Spent& operator+=(const Spent& other);
  Spent operator-(const Spent& other) const;
};

class Meter {
 public:
  // Counting instructions adds a system call to every reading, and thus to the measured times.
  explicit Meter(bool instructions);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Whether instructions were requested and the kernel counts them. It does not if /proc/sys/kernel/perf_event_paranoid
  // forbids it, or on machines without performance counters.
  bool counts_instructions() const { return counter_ >= 0; }
  Spent read() const;

 private:
  int counter_ = -1;
};

std::int64_t now_ns();
std::int64_t resident_kib();
// A quantile in microseconds; 0 without spans. `part` in [0, 1]: 0.5 is the median, 1 the maximum.
double quantile_us(std::vector<std::int64_t> spans_ns, double part);

}  // namespace berth::bench
