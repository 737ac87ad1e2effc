// WriteBudget: how much of a day's allowance of flash writes the last 24 hours have used. Flash wears out by writing.
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
    near,  // four fifths are used: the operator is told
    over,  // what is not safety is no more written
  };

  // 0: without limit.
  explicit WriteBudget(std::uint64_t bytes_per_day) : limit_(bytes_per_day) {}

  // `total`: bytes written since the start, growing. Hours are forgotten a day later, one by one.
  State note(Millis now, std::uint64_t total);
  std::uint64_t used() const;

 private:
  static constexpr Millis kHour = 3'600'000;

  std::uint64_t limit_;
  std::uint64_t total_ = 0;
  std::array<std::uint64_t, 24> hours_{};
  std::int64_t hour_ = 0;  // the present one; its place is the remainder by 24
};

}  // namespace berth
