// The machine's clocks, a pause, and a text form of a point in time.
#pragma once

#include <string>

#include "core/clock.h"

namespace berth {

class RealClock final : public Clock {
 public:
  Millis now() const override;
  std::int64_t now_us() const override;  // CLOCK_BOOTTIME: counts suspend, never jumps
  Millis wall() const override;          // CLOCK_REALTIME
};

// CPU time of this thread so far, without waiting.
std::int64_t processor_us();

// Blocks the thread; a signal may end the pause early. Only for use without an event loop: during start-up, in a
// keeper.
void pause_for(Millis span);

// "2026-11-20T09:08:07Z": a wall time in milliseconds as Kubernetes writes it, whole seconds, UTC.
std::string to_rfc3339(Millis wall);

}  // namespace berth
