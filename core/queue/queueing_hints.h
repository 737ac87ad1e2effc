// QueueingHints: whether an event requeues a rejected pod, which the plugins that rejected it tell by the events they
// registered and their hints (kube-scheduler backend/queue/scheduling_queue.go isPodWorthRequeuing).
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "core/clock.h"
#include "core/framework/events.h"
#include "core/queue/event_ring.h"
#include "core/queue/queue_entry.h"

namespace berth {

class Framework;
struct Metrics;

// What becomes of a rejected pod on an event.
enum class QueueingStrategy { skip, after_backoff, immediately };

class QueueingHints {
 public:
  // `metrics` null: calls of hints are not counted.
  QueueingHints(const Clock& clock, Metrics* metrics) : clock_(clock), metrics_(metrics) {}

  // A profile of some pod; must outlive this object.
  void add_profile(const Framework& framework) { frameworks_.insert(&framework); }
  // True when some plugin of some profile registered the event (scheduling_queue.go isEventOfInterest).
  bool is_of_interest(const ClusterEvent& event) const;
  // A gated pod is retried only for events of the plugin that gates it.
  static bool can_ungate(const QueueEntry& entry, const ClusterEvent& event);
  QueueingStrategy judge(const QueueEntry& entry, const ClusterEvent& event, const EventObjects& objects) const;
  // The same for all events after number `since`. When some of them are no longer there, the pod is retried.
  QueueingStrategy judge_since(const QueueEntry& entry, const EventRing& events, std::uint64_t since) const;

 private:
  Hint call_hint(const EventWithHint& registered, std::string_view plugin, const QueueEntry& entry,
                 const ClusterEvent& event, const EventObjects& objects) const;

  const Clock& clock_;
  Metrics* metrics_;
  std::set<const Framework*> frameworks_;
};

}  // namespace berth
