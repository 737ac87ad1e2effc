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

}  // namespace berth
