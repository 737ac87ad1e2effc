// InFlightPods: the pods between pop() and done() or requeue(), and the events since the oldest of these pops, which
// are replayed when one of the pods is requeued.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/framework/events.h"
#include "core/queue/event_ring.h"
#include "core/recycled.h"
#include "core/text.h"

namespace berth {

class InFlightPods {
 public:
  struct Flight {
    std::uint64_t event_sequence = 0;  // at the pop: later events are replayed
    PodPtr updated;                    // null: the object did not change since the pop
    std::uint64_t order = 0;           // number of the pop
  };

  // At most `most_events` events are kept.
  explicit InFlightPods(std::size_t most_events) : events_(most_events) {}

  // Returns the pod's event sequence number.
  std::uint64_t begin(const Text& uid);
  // Drops the events that only this pod needed. Nothing happens when the pod is not in flight.
  void end(std::string_view uid);
  // Null: the pod is not in flight. Valid until end() or begin() of this pod.
  const Flight* find(std::string_view uid) const;
  bool contains(std::string_view uid) const { return flights_.contains(uid); }
  std::size_t size() const { return flights_.size(); }
  // The pod's object changed. False: the pod is not in flight.
  bool update(std::string_view uid, PodPtr pod);
  // Events while no pod is in flight are not kept.
  void record(const ClusterEvent& event, const EventObjects& objects);

  const EventRing& events() const { return events_; }
  std::map<std::string_view, std::size_t> event_counts() const;  // by label
  std::vector<std::string> uids() const;                         // sorted
  std::vector<std::string> uids_by_pop() const;

 private:
  EventRing events_;
  RecyclingMap<Text, Flight, std::less<>> flights_;  // by uid
  std::uint64_t pops_ = 0;
};

}  // namespace berth
