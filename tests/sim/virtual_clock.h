// The world's clock, and the clocks of its machines, which start anew at each boot.
#pragma once

#include "core/clock.h"

namespace berth::sim {

class VirtualClock final : public Clock {
 public:
  Millis now() const override { return now_; }
  Millis wall() const override { return now_; }
  void advance_to(Millis at) {
    if (at > now_) now_ = at;
  }

 private:
  Millis now_ = 0;
};

// One machine's CLOCK_BOOTTIME, and a wall clock that starts in 1970 and jumps at each boot.
class BootClock final : public Clock {
 public:
  explicit BootClock(const VirtualClock& world) : world_(world) {}
  Millis now() const override { return world_.now() - booted_; }
  Millis wall() const override { return now() + wall_jump_; }
  void reboot(Millis wall_jump) {
    booted_ = world_.now();
    wall_jump_ = wall_jump;
  }
  // A point of this clock on the world's.
  Millis to_world(Millis local) const { return local + booted_; }

 private:
  const VirtualClock& world_;
  Millis booted_ = 0;
  Millis wall_jump_ = 0;
};

}  // namespace berth::sim
