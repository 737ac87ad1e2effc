#include "core/controllers/nodes/rate_limiter.h"

#include <algorithm>
#include <cstdint>

namespace berth {
namespace {

constexpr double kBurst = 1;

// As time.Duration.Seconds() computes it.
double seconds(Millis duration) {
  const Millis whole = duration / 1000;
  return static_cast<double>(whole) + static_cast<double>(duration % 1000) / 1000;
}

}  // namespace

bool RateLimiter::try_accept(Millis now) {
  if (per_second_ <= 0) return false;
  const double rate = per_second_;
  const double tokens = std::min(kBurst, tokens_ + seconds(now - last_) * rate) - 1;
  // What is missing for less than a nanosecond is there.
  if (tokens < 0 && static_cast<std::int64_t>(-tokens / rate * 1e9) > 0) return false;
  tokens_ = tokens;
  last_ = now;
  return true;
}

}  // namespace berth
