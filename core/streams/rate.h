// Rate: how many bytes may be sent now, at so many a second on average. What was saved up is bounded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.h"

namespace berth {

class Rate {
 public:
  Rate(std::uint64_t bytes_per_second, std::uint64_t most)
      : bytes_per_second_(bytes_per_second), most_(most), now_(most) {}

  void fill(Millis now) {
    const Millis passed = std::clamp<Millis>(now - filled_at_, 0, 1000);
    now_ = std::min<std::uint64_t>(now_ + static_cast<std::uint64_t>(passed) * bytes_per_second_ / 1000, most_);
    filled_at_ = now;
  }
  std::uint64_t bytes() const { return now_; }
  void take(std::uint64_t bytes) { now_ -= std::min(bytes, now_); }
  // How long it takes until there are so many.
  Millis wait_for(std::uint64_t bytes) const {
    const std::uint64_t missing = bytes - std::min(now_, bytes);
    return static_cast<Millis>((missing * 1000 + bytes_per_second_ - 1) / bytes_per_second_);
  }

 private:
  const std::uint64_t bytes_per_second_;
  const std::uint64_t most_;
  std::uint64_t now_;
  Millis filled_at_ = 0;
};

}  // namespace berth
