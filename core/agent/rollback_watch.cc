#include "core/agent/rollback_watch.h"

#include <utility>

namespace berth {

namespace {

constexpr std::uint64_t kRunSpread = 1 << 16;
constexpr Millis kAgentMarkMs = 3'600'000;  // each mark wears the flash

}  // namespace

bool RollbackWatch::is_behind_mark(const std::string& incarnation, const TermHistory& runs) {
  if (marks_ == nullptr) return false;
  marked_ = marks_->read();
  if (!marked_ || incarnation.empty()) return false;
  if (marked_->store_id != incarnation) return true;
  // The store may be ahead of its mark, which follows it.
  return !runs.may_contain(marked_->term, runs.last()) || marked_->position > turn_.store().next_position();
}

void RollbackWatch::begin_run(TermHistory earlier, Random& random) {
  runs_ = std::move(earlier);
  run_ = {runs_.last() + 1 + random.below(kRunSpread), turn_.store().next_position()};
  runs_.begin(run_.term, run_.counter);
}

bool RollbackWatch::begin_incarnation(const std::string& incarnation) {
  runs_.clear();
  runs_.begin(run_.term, run_.counter);
  if (marks_ == nullptr) return true;
  const StoreMark first{incarnation, run_.term, 0};
  if (!marks_->write(first)) return false;
  marked_ = first;
  return true;
}

void RollbackWatch::mark(const std::string& incarnation) {
  if (marks_ == nullptr) return;
  timers_.cancel(hourly_);
  hourly_ = timers_.at(clock_.now() + kAgentMarkMs, [this, incarnation] { mark(incarnation); });
  // As it is now, since what other effects of this turn stage may be lost with the power.
  const StoreMark now{incarnation, run_.term, turn_.store().next_position()};
  turn_.after_commit([this, now] {
    if (marked_ != now && marks_->write(now)) marked_ = now;
  });
}

}  // namespace berth
