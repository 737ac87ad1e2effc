// Timers of one single-threaded program. The host (or the simulator) sleeps until next() and calls run_due().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/clock.h"

namespace berth {

class Timers {
 public:
  using Id = std::uint64_t;  // 0: no timer

  // Calls `run` once, from run_due(), as soon as the clock reaches `deadline`. Timers with the same deadline run in
  // the order they were set.
  Id at(Millis deadline, std::function<void()> run);
  // Cancels a timer; unknown, expired and zero ids are ignored. Sets `id` to 0.
  void cancel(Id& id);
  // The earliest deadline, if any.
  std::optional<Millis> next() const;
  // Runs the timers due at `now`, including due ones set meanwhile, until `enough` returns true after one of them; the
  // rest stay due. Returns how many ran.
  int run_due(Millis now, const std::function<bool()>& enough = {});

 private:
  std::map<std::pair<Millis, Id>, std::function<void()>> due_;
  std::unordered_map<Id, Millis> deadline_of_;
  Id last_id_ = 0;
};

}  // namespace berth
