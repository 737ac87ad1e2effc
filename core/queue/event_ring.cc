#include "core/queue/event_ring.h"

namespace berth {

void EventRing::add(const ClusterEvent& event, const EventObjects& objects) {
  items_.push_back({++last_, event, objects});
  if (items_.size() > capacity_) items_.pop_front();
}

void EventRing::trim(std::uint64_t sequence) {
  while (!items_.empty() && items_.front().sequence <= sequence) items_.pop_front();
}

}  // namespace berth
