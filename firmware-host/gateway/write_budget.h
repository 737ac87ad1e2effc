// WriteBudget: how much of the daily budget of flash writes the last 24 hours have used. Writing wears out flash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/clock.h"

namespace berth {

class WriteBudget {
 public:
  enum class State {
    within,
    near,  // four fifths used: logs a warning
    over,  // non-essential writes are deferred
  };

  // 0: no limit.
  explicit WriteBudget(std::uint64_t bytes_per_day) : limit_(bytes_per_day) {}

  // `total`: bytes written since the start. Each hour is dropped a day later.
  State note(Millis now, std::uint64_t total);
  std::uint64_t used() const;

 private:
  static constexpr Millis kHour = 3'600'000;

  std::uint64_t limit_;
  std::uint64_t total_ = 0;
  std::array<std::uint64_t, 24> hours_{};
  std::int64_t hour_ = 0;  // the current hour; its index in hours_ is the remainder by 24
};

}  // namespace berth
