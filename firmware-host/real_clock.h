// The machine's clocks, a pause, and the text forms of a point in time.
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

// Processor time of this thread so far: what it works, without what it waits.
std::int64_t processor_us();

// Blocks the process; a signal may end it sooner. Only where no event loop runs: at a start, in a keeper.
void pause_for(Millis span);

// "2026-11-20T09:08:07Z": a wall time in milliseconds as Kubernetes writes it, whole seconds, UTC.
std::string to_rfc3339(Millis wall);

}  // namespace berth
