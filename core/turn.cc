#include "core/turn.h"

#include <utility>

namespace berth {

void Turn::send(Message message) {
  effects_.push_back([this, message = std::move(message)] {
    if (!transport_.is_up()) return;
    ++sent_;
    transport_.send(message);
  });
}

void Turn::before_commit(std::function<void()> effect) { early_.push_back(std::move(effect)); }

void Turn::after_commit(std::function<void()> effect) { effects_.push_back(std::move(effect)); }

Status Turn::finish() {
  const std::uint64_t before = sent_;
  for (;;) {
    while (!early_.empty()) {
      for (auto& effect : std::exchange(early_, {})) effect();
    }
    // What has been sent does not wait for another sync.
    if (sent_ != before && store_.next_position() != committed_) transport_.gather(false);
    if (Status committed = store_.commit(); !committed.is_success()) {
      effects_.clear();
      transport_.gather(false);
      return committed;
    }
    committed_ = store_.next_position();
    if (effects_.empty() && early_.empty()) break;
    transport_.gather(true);
    for (auto& effect : std::exchange(effects_, {})) effect();
  }
  transport_.gather(false);
  return Status::ok();
}

}  // namespace berth
