// What a run costs: spans on the monotonic clock, allocations of the process, resident memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::bench {

std::int64_t now_ns();
// Calls of operator new so far.
std::uint64_t allocations();
std::int64_t resident_kib();
// In microseconds; 0 without spans. `part` in [0, 1]: 0.5 is the median, 1 the largest.
double quantile_us(std::vector<std::int64_t> spans_ns, double part);

}  // namespace berth::bench
