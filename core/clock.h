// Clock interface: the only way core reads time. The host uses the boot-time clock, the simulator a virtual one.
#pragma once

#include <cstdint>

namespace berth {

using Millis = std::int64_t;  // milliseconds: a point in time on Clock::now()'s scale, or a duration

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since boot, including suspend (CLOCK_BOOTTIME). All deadlines are on this clock.
  virtual Millis now() const = 0;
  // The same in microseconds, for measuring durations (metrics, the time budget of a turn); never for a decision.
  virtual std::int64_t now_us() const { return now() * 1000; }
  // Milliseconds since 1970; may jump. For logs, status texts and certificates only, never for a decision.
  virtual Millis wall() const = 0;
};

// Whether a wall clock may be right: one without a battery begins in 1970.
inline constexpr Millis kYearOfThisProgram = Millis{1'735'689'600} * 1000;  // 2025
constexpr bool is_clock_set(Millis wall) { return wall >= kYearOfThisProgram; }

}  // namespace berth
