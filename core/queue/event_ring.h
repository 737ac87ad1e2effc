// EventRing: the last cluster events, numbered, so that a pod coming back from its attempt learns what it missed.
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
  // Number of the last event; 0 before the first.
  std::uint64_t last() const { return last_; }
  // True when every event after `sequence` is still here.
  bool holds_since(std::uint64_t sequence) const { return last_ - items_.size() <= sequence; }
  // Drops what nobody can ask for any more: events up to `sequence`.
  void trim(std::uint64_t sequence);
  const std::deque<Item>& items() const { return items_; }

 private:
  std::size_t capacity_;
  std::deque<Item> items_;
  std::uint64_t last_ = 0;
};

}  // namespace berth
