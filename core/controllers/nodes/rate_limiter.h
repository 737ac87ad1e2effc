// RateLimiter: a token bucket of one token (golang.org/x/time/rate as client-go's flowcontrol uses it, with burst 1).
#pragma once

#include "core/clock.h"

namespace berth {

class RateLimiter {
 public:
  // Tokens a second; 0: never one. The bucket is full. A float as upstream's: at 0.01f a token takes a little more than
  // 100 s.
  explicit RateLimiter(float per_second) : per_second_(per_second) {}

  float per_second() const { return per_second_; }
  // Takes the token if it is there. `now` never goes back.
  bool try_accept(Millis now);

 private:
  float per_second_;
  double tokens_ = 1;
  Millis last_ = 0;  // when tokens_ was right
};

}  // namespace berth
