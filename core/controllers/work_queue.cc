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
  const auto [at, is_new] = times_.emplace(key, when);
  if (!is_new) {
    if (at->second <= when) return;
    waiting_.erase({at->second, key});
    at->second = when;
  }
  waiting_.emplace(when, key);
}

void WorkQueue::add_after_failure(const ObjectKey& key, Millis now) {
  const int before = failures_[key]++;
  add_at(key, now + std::min(kFirstRetry << std::min(before, kDoublingsMax), kLongestRetry), now);
}

void WorkQueue::wake(Millis now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const ObjectKey key = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
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
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.begin()->first);
}

}  // namespace berth
