// What a run costs: time on the monotonic clock, allocations of the process, instructions, resident memory.
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
  // Counting instructions adds a system call to every reading, and so to the times.
  explicit Meter(bool instructions);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Instructions were asked for and the kernel counts them: it refuses by /proc/sys/kernel/perf_event_paranoid, and in
  // machines without counters.
  bool counts_instructions() const { return counter_ >= 0; }
  Spent read() const;

 private:
  int counter_ = -1;
};

std::int64_t now_ns();
std::int64_t resident_kib();
// In microseconds; 0 without spans. `part` in [0, 1]: 0.5 is the median, 1 the largest.
double quantile_us(std::vector<std::int64_t> spans_ns, double part);

}  // namespace berth::bench
