#include "core/framework/cycle_state.h"

namespace berth {

CycleState CycleState::clone() const {
  CycleState copy;
  copy.become(*this);
  return copy;
}

void CycleState::become(const CycleState& other) {
  sampled = other.sampled;
  skip_filter = other.skip_filter;
  skip_score = other.skip_score;
  skip_pre_bind = other.skip_pre_bind;
  of_class = nullptr;
  static_cast<void>(other.pods_to_activate());
  pods_to_activate_ = other.pods_to_activate_;
  entries_ = other.entries_;
}

void CycleState::take_from(const CycleState& other) {
  skip_filter = other.skip_filter;
  skip_score = other.skip_score;
  for (const Held& each : other.entries_) {
    erase(each.key);
    entries_.push_back(each);
  }
}

}  // namespace berth
