#include "firmware-host/gateway/write_budget.h"

#include <algorithm>
#include <numeric>

namespace berth {

WriteBudget::State WriteBudget::note(Millis now, std::uint64_t total) {
  const std::int64_t hour = now / kHour;
  const std::int64_t passed = std::min<std::int64_t>(hour - hour_, static_cast<std::int64_t>(hours_.size()));
  for (std::int64_t i = 0; i < passed; ++i) hours_[static_cast<std::size_t>(hour - i) % hours_.size()] = 0;
  hour_ = std::max(hour, hour_);
  hours_[static_cast<std::size_t>(hour_) % hours_.size()] += total - total_;
  total_ = total;
  if (limit_ == 0) return State::within;
  const std::uint64_t bytes = used();
  return bytes > limit_ ? State::over : bytes > limit_ / 5 * 4 ? State::near : State::within;
}

std::uint64_t WriteBudget::used() const { return std::accumulate(hours_.begin(), hours_.end(), std::uint64_t{0}); }

}  // namespace berth
