// A clock that is set by the test.
#pragma once

#include "core/clock.h"

namespace berth {

class HandClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return booted_ms + now_ms; }
  Millis now_ms = 1'000;
  Millis booted_ms = 1'700'000'000'000;  // wall time
};

}  // namespace berth
