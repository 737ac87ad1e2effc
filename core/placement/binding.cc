#include "core/placement/binding.h"

namespace berth {

const BindingProgress& Binding::progress() const {
  static const BindingProgress& none = *new BindingProgress();
  return progress_ == nullptr ? none : *progress_;
}

BindingProgress& Binding::edit() {
  if (progress_ == nullptr) progress_ = std::make_unique<BindingProgress>();
  return *progress_;
}

void Binding::cancel(Timers& timers) {
  if (progress_ == nullptr) return;
  timers.cancel(progress_->deadline);
  timers.cancel(progress_->resend);
}

void Binding::rest() {
  if (progress_ == nullptr || row.phase != Phase::bound) return;
  const BindingProgress& now = *progress_;
  const bool is_over = !now.task.is_begun() && now.events.is_empty() && now.cycle == nullptr;
  if (is_over && now.deadline == 0 && now.resend == 0 && now.reason.empty()) progress_.reset();
}

}  // namespace berth
