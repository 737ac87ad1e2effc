// A loop for tests that wait for a callback, and a bound on how long they do.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "core/timers.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"

namespace berth {

class ImagesLoop {
 public:
  static constexpr Millis kLimit = 120'000;  // of a machine that is busy otherwise

  asio::io_context& context() { return loop_.context(); }
  const Clock& clock() const { return clock_; }
  // Runs until a handler has made it true.
  void run_until(const std::function<bool()>& is_done) {
    bool late = false;
    Timers::Id limit = timers_.at(clock_.now() + kLimit, [&] { late = true; });
    loop_.set_end_turn([&] {
      if (late || is_done()) loop_.stop();
      return Status::ok();
    });
    if (!is_done()) {
      EXPECT_TRUE(loop_.run().is_success());
    }
    timers_.cancel(limit);
    EXPECT_TRUE(is_done()) << "not within the limit";
  }
  // For a condition without an event: checks again every millisecond.
  void run_until_true(const std::function<bool()>& is_done) {
    bool is_true = false;
    Timers::Id tick = 0;
    const std::function<void()> check = [&] {
      is_true = is_done();
      if (!is_true) tick = timers_.at(clock_.now() + 1, check);
    };
    check();
    run_until([&] { return is_true; });
    timers_.cancel(tick);
  }

 private:
  RealClock clock_;
  Timers timers_;
  EventLoop loop_{clock_, timers_};
};

}  // namespace berth
