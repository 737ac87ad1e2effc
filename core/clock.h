// Clock seam: the only way core learns of time. The host reads the boot-time clock, the simulator a virtual one.
#pragma once

#include <cstdint>

namespace berth {

using Millis = std::int64_t;  // milliseconds; points on Clock::now()'s scale, or a span

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since boot, counting suspend (CLOCK_BOOTTIME). Every deadline is judged by this.
  virtual Millis now() const = 0;
  // The same in microseconds. To measure spans with, for metrics and to end a turn in time; never for a decision.
  virtual std::int64_t now_us() const { return now() * 1000; }
  // Milliseconds since 1970; may jump. For logs, status texts and certificates only, never for a decision.
  virtual Millis wall() const = 0;
};

}  // namespace berth
