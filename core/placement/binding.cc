#include "core/placement/binding.h"

namespace berth {

const BindingCycle& Binding::progress() const {
  static const BindingCycle& none = *new BindingCycle();
  return cycle_ == nullptr ? none : *cycle_;
}

BindingCycle& Binding::edit() {
  if (cycle_ == nullptr) cycle_ = std::make_unique<BindingCycle>();
  return *cycle_;
}

void Binding::cancel(Timers& timers) {
  if (cycle_ == nullptr) return;
  timers.cancel(cycle_->deadline);
  timers.cancel(cycle_->resend);
}

void Binding::rest() {
  if (cycle_ == nullptr || row.phase != Phase::bound) return;
  const BindingCycle& now = *cycle_;
  const bool is_over = !now.task.is_begun() && now.events.is_empty() && now.framework == nullptr && !now.reservation;
  if (is_over && now.deadline == 0 && now.resend == 0 && now.reason.empty()) cycle_.reset();
}

}  // namespace berth
