#include "core/time_floor.h"

#include <algorithm>

namespace berth {

TimeFloor::TimeFloor(Millis known, TimeMemory& memory, const Clock& clock, Timers& timers)
    : memory_(memory),
      clock_(clock),
      timers_(timers),
      written_(std::clamp<Millis>(memory.read(), 0, kLast)),
      floor_(std::max(known, written_)) {
  timer_ = timers_.at(clock_.now() + kFirstWrite, [this] { save_daily(); });
}

TimeFloor::~TimeFloor() { timers_.cancel(timer_); }

void TimeFloor::raise(Millis time) { floor_ = std::max(floor_, time); }

void TimeFloor::note_told(Millis time) {
  const bool is_first = !told_;
  told_ = Told{std::min(time, kLast), clock_.now()};
  if (is_first && is_clock_behind()) save();
}

Millis TimeFloor::time_now() const {
  if (!told_ || !is_clock_behind()) return clock_.wall();
  return told_->time + (clock_.now() - told_->at);
}

void TimeFloor::save() {
  if (saved_at_ && clock_.now() - *saved_at_ < kWriteEvery) return;
  const Millis next = std::min({time_now(), floor_ + kStepMax, kLast});
  if (next < floor_ || next - written_ < kWriteEvery || !memory_.write(next)) return;
  floor_ = written_ = next;
  saved_at_ = clock_.now();
}

void TimeFloor::save_daily() {
  save();
  timer_ = timers_.at(clock_.now() + kWriteEvery, [this] { save_daily(); });
}

}  // namespace berth
