#include "core/placement/binding.h"

namespace berth {

const Journey& Binding::journey() const {
  static const Journey& none = *new Journey();
  return journey_ == nullptr ? none : *journey_;
}

Journey& Binding::edit() {
  if (journey_ == nullptr) journey_ = std::make_unique<Journey>();
  return *journey_;
}

void Binding::cancel(Timers& timers) {
  if (journey_ == nullptr) return;
  timers.cancel(journey_->deadline);
  timers.cancel(journey_->resend);
}

void Binding::rest() {
  if (journey_ == nullptr || row.phase != Phase::bound) return;
  const Journey& now = *journey_;
  const bool is_over = !now.task.is_begun() && now.events.is_empty() && now.cycle == nullptr;
  if (is_over && now.deadline == 0 && now.resend == 0 && now.reason.empty()) journey_.reset();
}

}  // namespace berth
