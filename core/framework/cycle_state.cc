#include "core/framework/cycle_state.h"

namespace berth {

CycleState CycleState::clone() const {
  CycleState copy;
  copy.sampled = sampled;
  copy.skip_filter = skip_filter;
  copy.skip_score = skip_score;
  copy.skip_pre_bind = skip_pre_bind;
  static_cast<void>(pods_to_activate());
  copy.pods_to_activate_ = pods_to_activate_;
  for (const auto& [key, entry] : entries_) copy.entries_.emplace(key, entry->clone());
  return copy;
}

}  // namespace berth
