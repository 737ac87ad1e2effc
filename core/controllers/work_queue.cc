#include "core/controllers/work_queue.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

constexpr Millis kFirstRetry = 5;
constexpr Millis kLongestRetry = 1000 * 1000;
constexpr int kDoublingsMax = 18;  // 5 ms doubled that often is more than the longest

}  // namespace

void WorkQueue::add(const ObjectKey& key) {
  if (queued_.insert(key).second) order_.push_back(key);
}

void WorkQueue::add_at(const ObjectKey& key, Millis when, Millis now) {
  if (when <= now) {
    add(key);
    return;
  }
  const auto [time, is_new] = times_.emplace(key, when);
  if (is_new) {
    waiting_.push_back({when, key});
    move_up(waiting_.size() - 1);
  } else if (time->second > when) {
    time->second = when;
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& each) { return each.key == key; });
    found->when = when;
    move_up(static_cast<std::size_t>(found - waiting_.begin()));
  }
}

void WorkQueue::move_up(std::size_t at) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (waiting_[at].when >= waiting_[parent].when) return;
    std::swap(waiting_[at], waiting_[parent]);
    at = parent;
  }
}

void WorkQueue::move_down(std::size_t at) {
  while (2 * at + 1 < waiting_.size()) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < waiting_.size() && waiting_[child + 1].when < waiting_[child].when) ++child;
    if (waiting_[child].when >= waiting_[at].when) return;
    std::swap(waiting_[at], waiting_[child]);
    at = child;
  }
}

void WorkQueue::add_after_failure(const ObjectKey& key, Millis now) {
  const int before = failures_[key]++;
  add_at(key, now + std::min(kFirstRetry << std::min(before, kDoublingsMax), kLongestRetry), now);
}

void WorkQueue::wake(Millis now) {
  while (!waiting_.empty() && waiting_.front().when <= now) {
    std::swap(waiting_.front(), waiting_.back());
    const ObjectKey key = std::move(waiting_.back().key);
    waiting_.pop_back();
    move_down(0);
    times_.erase(key);
    add(key);
  }
}

std::optional<ObjectKey> WorkQueue::take() {
  if (order_.empty()) return std::nullopt;
  ObjectKey key = std::move(order_.front());
  order_.pop_front();
  queued_.erase(key);
  return key;
}

std::optional<Millis> WorkQueue::next_wake() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().when);
}

}  // namespace berth
