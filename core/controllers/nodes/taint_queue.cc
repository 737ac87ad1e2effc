#include "core/controllers/nodes/taint_queue.h"

namespace berth {

void TaintQueue::set_rate(float per_second, Millis now) {
  if (per_second == limiter_.per_second()) return;
  RateLimiter next(per_second);
  if (!limiter_.try_accept(now)) next.try_accept(now);
  limiter_ = next;
}

std::optional<std::string> TaintQueue::take(Millis now) {
  auto first = nodes_.end();
  for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
    if (node->second && (first == nodes_.end() || *node->second < *first->second)) first = node;
  }
  if (first == nodes_.end() || !limiter_.try_accept(now) || now < *first->second) return std::nullopt;
  first->second.reset();
  return first->first;
}

}  // namespace berth
