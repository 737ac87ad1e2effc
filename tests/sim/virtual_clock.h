// The simulation's clock, and the clocks of its machines, which restart at each boot.
#pragma once

#include <optional>

#include "core/clock.h"

namespace berth::sim {

// The day on which the simulated programs were built, by the wall clock.
inline constexpr Millis kBuilt = Millis{1'767'225'600} * 1000;  // 2026
inline constexpr Millis kYearsAhead = Millis{2 * 365 * 24} * 3600 * 1000;

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

// One machine's CLOCK_BOOTTIME, which may run fast, run slow or stand still, and a wall clock that starts in 1970 and
// may jump.
class BootClock final : public Clock {
 public:
  explicit BootClock(const VirtualClock& world) : world_(world) {}
  Millis now() const override { return local_base_ + (world_.now() - world_base_) * per_mille_ / 1000; }
  Millis wall() const override { return now() + wall_jump_; }
  void reboot(Millis wall_jump) {
    world_base_ = world_.now();
    local_base_ = 0;
    wall_jump_ = wall_jump;
  }
  void jump_wall(Millis by) { wall_jump_ += by; }
  // Milliseconds of this clock per 1,000 ms of the simulation; 0: it stands still.
  void set_rate(Millis per_mille) {
    local_base_ = now();
    world_base_ = world_.now();
    per_mille_ = per_mille;
  }
  // The simulation's time at which this clock reaches `local`; none while it stands still.
  std::optional<Millis> to_world(Millis local) const {
    if (local <= now()) return world_.now();
    if (per_mille_ == 0) return std::nullopt;
    return world_base_ + ((local - local_base_) * 1000 + per_mille_ - 1) / per_mille_;
  }

 private:
  const VirtualClock& world_;
  Millis world_base_ = 0;
  Millis local_base_ = 0;
  Millis per_mille_ = 1000;
  Millis wall_jump_ = 0;
};

}  // namespace berth::sim
