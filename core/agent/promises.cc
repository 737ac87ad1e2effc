#include "core/agent/promises.h"

#include <algorithm>
#include <utility>

namespace berth {

Promises::Promises(const Clock& clock, Timers& timers, Expired expired)
    : clock_(clock), timers_(timers), expired_(std::move(expired)) {}

Promises::~Promises() {
  for (auto& [uid, timer] : timer_of_) timers_.cancel(timer);
}

void Promises::arm(const Tag& tag, Slot& slot) {
  slot.deadline = std::min(slot.deadline, clock_.now() + slot.promise_ms);
  end(tag.uid);
  timer_of_[tag.uid] = timers_.at(slot.deadline, [this, tag] { expired_(tag); });
}

void Promises::end(const std::string& uid) {
  const auto timer = timer_of_.find(uid);
  if (timer == timer_of_.end()) return;
  timers_.cancel(timer->second);
  timer_of_.erase(timer);
}

}  // namespace berth
