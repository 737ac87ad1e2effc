#include "core/queue/queueing_hints.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/framework/framework.h"
#include "core/metrics.h"

namespace berth {

bool QueueingHints::is_of_interest(const ClusterEvent& event) const {
  if (event.resource == EventResource::wildcard) return true;
  return std::any_of(frameworks_.begin(), frameworks_.end(),
                     [&event](const Framework* framework) { return framework->is_of_interest(event); });
}

bool QueueingHints::can_ungate(const QueueEntry& entry, const ClusterEvent& event) {
  const auto& registered = entry.framework->events_of(entry.queued.gating_plugin);
  return std::any_of(registered.begin(), registered.end(),
                     [&event](const auto& each) { return each.event.matches(event); });
}

Hint QueueingHints::call_hint(const EventWithHint& registered, std::string_view plugin, const QueueEntry& entry,
                              const ClusterEvent& event, const EventObjects& objects) const {
  if (metrics_ == nullptr) return registered.hint(*entry.queued.pod, objects);
  const std::int64_t began_us = clock_.now_us();
  const Hint hint = registered.hint(*entry.queued.pod, objects);
  metrics_->hint_duration.at({plugin, event.label, hint == Hint::skip ? "QueueSkip" : "Queue"})
      .observe(seconds_between(began_us, clock_.now_us()));
  return hint;
}

QueueingStrategy QueueingHints::judge(const QueueEntry& entry, const ClusterEvent& event,
                                      const EventObjects& objects) const {
  const QueuedPod& queued = entry.queued;
  if (queued.unschedulable_plugins.empty()) return QueueingStrategy::after_backoff;
  if (event.resource == EventResource::wildcard) {
    const bool for_another = objects.new_pod != nullptr && objects.new_pod->uid() != queued.pod->uid();
    return for_another ? QueueingStrategy::skip : QueueingStrategy::after_backoff;
  }
  QueueingStrategy strategy = QueueingStrategy::skip;
  for (const std::string& plugin : queued.unschedulable_plugins) {
    for (const EventWithHint& registered : entry.framework->events_of(plugin)) {
      if (!registered.event.matches(event)) continue;
      if (registered.hint && call_hint(registered, plugin, entry, event, objects) == Hint::skip) continue;
      if (queued.pending_plugins.contains(plugin)) return QueueingStrategy::immediately;
      strategy = QueueingStrategy::after_backoff;
    }
  }
  return strategy;
}

QueueingStrategy QueueingHints::judge_since(const QueueEntry& entry, const EventRing& events,
                                            std::uint64_t since) const {
  if (!events.holds_since(since)) {
    return entry.queued.pending_plugins.empty() ? QueueingStrategy::after_backoff : QueueingStrategy::immediately;
  }
  if (entry.queued.unschedulable_plugins.empty()) return QueueingStrategy::after_backoff;
  QueueingStrategy strategy = QueueingStrategy::skip;
  for (const EventRing::Item& item : events.items()) {
    if (item.sequence <= since) continue;
    const QueueingStrategy verdict = judge(entry, item.event, item.objects);
    if (verdict == QueueingStrategy::immediately) return verdict;
    if (verdict == QueueingStrategy::after_backoff) strategy = verdict;
  }
  return strategy;
}

}  // namespace berth
