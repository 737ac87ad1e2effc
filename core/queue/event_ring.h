// EventRing: the most recent cluster events, numbered, so that those that happened during a pod's attempt can be
// replayed when it is requeued.
#pragma once

#include <cstdint>
#include <deque>

#include "core/framework/events.h"

namespace berth {

class EventRing {
 public:
  struct Item {
    std::uint64_t sequence = 0;
    ClusterEvent event;
    EventObjects objects;
  };

  explicit EventRing(std::size_t capacity) : capacity_(capacity) {}

  void add(const ClusterEvent& event, const EventObjects& objects);
  // Sequence number of the last event; 0 before the first.
  std::uint64_t last() const { return last_; }
  // True when every event after `sequence` is still here.
  bool holds_since(std::uint64_t sequence) const { return last_ - items_.size() <= sequence; }
  // Drops the events up to `sequence`, which no pod in flight needs any more.
  void trim(std::uint64_t sequence);
  const std::deque<Item>& items() const { return items_; }

 private:
  std::size_t capacity_;
  std::deque<Item> items_;
  std::uint64_t last_ = 0;
};

}  // namespace berth
