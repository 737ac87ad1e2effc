// What requeues a waiting pod: events, changes of the pod itself, and events replayed after its flight.
#include <algorithm>

#include "core/api/pod.h"
#include "core/framework/framework.h"
#include "core/metrics.h"
#include "core/queue/queue.h"

namespace berth {

namespace {

constexpr ClusterEvent kForceActivate{EventResource::wildcard, kAllActions, "ForceActivate"};

}  // namespace

// Some plugin of some profile registered the event (scheduling_queue.go isEventOfInterest).
bool Queue::is_of_interest(const ClusterEvent& event) const {
  if (event.resource == EventResource::wildcard) return true;
  return std::any_of(frameworks_.begin(), frameworks_.end(),
                     [&event](const Framework* framework) { return framework->is_of_interest(event); });
}

// A gated pod is retried only for events of the plugin that gates it.
bool Queue::can_ungate(const Entry& entry, const ClusterEvent& event) const {
  const auto& registered = entry.framework->events_of(entry.queued.gating_plugin);
  return std::any_of(registered.begin(), registered.end(),
                     [&event](const auto& each) { return each.event.matches(event); });
}

Hint Queue::call_hint(const EventWithHint& registered, std::string_view plugin, const Entry& entry,
                      const ClusterEvent& event, const EventObjects& objects) const {
  if (options_.metrics == nullptr) return registered.hint(*entry.queued.pod, objects);
  const std::int64_t began_us = clock_.now_us();
  const Hint hint = registered.hint(*entry.queued.pod, objects);
  options_.metrics->hint_duration.at({plugin, event.label, hint == Hint::skip ? "QueueSkip" : "Queue"})
      .observe(seconds_between(began_us, clock_.now_us()));
  return hint;
}

Queue::Wake Queue::judge(const Entry& entry, const ClusterEvent& event, const EventObjects& objects) const {
  const QueuedPod& queued = entry.queued;
  if (queued.unschedulable_plugins.empty()) return Wake::after_backoff;
  if (event.resource == EventResource::wildcard) {
    const bool for_another = objects.new_pod != nullptr && objects.new_pod->uid() != queued.pod->uid();
    return for_another ? Wake::no : Wake::after_backoff;
  }
  Wake wake = Wake::no;
  for (const std::string& plugin : queued.unschedulable_plugins) {
    for (const EventWithHint& registered : entry.framework->events_of(plugin)) {
      if (!registered.event.matches(event)) continue;
      if (registered.hint && call_hint(registered, plugin, entry, event, objects) == Hint::skip) continue;
      if (queued.pending_plugins.contains(plugin)) return Wake::at_once;
      wake = Wake::after_backoff;
    }
  }
  return wake;
}

Queue::Wake Queue::replay(const Entry& entry, std::uint64_t since) const {
  if (!ring_.holds_since(since)) return entry.queued.pending_plugins.empty() ? Wake::after_backoff : Wake::at_once;
  if (entry.queued.unschedulable_plugins.empty()) return Wake::after_backoff;
  Wake wake = Wake::no;
  for (const EventRing::Item& item : ring_.items()) {
    if (item.sequence <= since) continue;
    const Wake verdict = judge(entry, item.event, item.objects);
    if (verdict == Wake::at_once) return verdict;
    if (verdict == Wake::after_backoff) wake = verdict;
  }
  return wake;
}

void Queue::record(const ClusterEvent& event, const EventObjects& objects) {
  if (!in_flight_.empty()) ring_.add(event, objects);
}

void Queue::move_all(const ClusterEvent& event, const EventObjects& objects, const PreCheck& pre_check) {
  if (!is_of_interest(event)) return;
  record(event, objects);
  std::map<Entry*, Wake, UidOrder> woken;
  const auto judge_all = [&](const std::set<Entry*, UidOrder>& entries) {
    for (Entry* entry : entries) {
      if (pre_check && !pre_check(*entry->queued.pod)) continue;
      const Wake wake = judge(*entry, event, objects);
      if (wake != Wake::no) woken.emplace(entry, wake);
    }
  };
  judge_all(unschedulable_);
  for (const auto& [gate, entries] : gated_) {
    if (!entries.empty() && can_ungate(**entries.begin(), event)) judge_all(entries);
  }
  for (const auto& [entry, wake] : woken) {
    detach(*entry);
    enqueue(*entry, wake, event.label);
  }
}

void Queue::update(const std::shared_ptr<const Pod>& old_pod, std::shared_ptr<const Pod> new_pod) {
  EventObjects objects;
  objects.old_pod = old_pod;
  objects.new_pod = new_pod;
  if (auto flight = in_flight_.find(new_pod->uid()); flight != in_flight_.end()) {
    for (const ClusterEvent& event : pod_events(*old_pod, *new_pod)) record(event, objects);
    flight->second.updated = std::move(new_pod);
    return;
  }
  auto found = entries_.find(new_pod->uid());
  if (found == entries_.end()) return add(std::move(new_pod));
  Entry& entry = found->second;
  const Where where = entry.where;
  // A nomination that neither version of the pod has (made by preemption meanwhile) is kept, but moves to the end of
  // the node's list.
  const bool in_status = !old_pod->nominated_node_name.empty() || !new_pod->nominated_node_name.empty();
  nominator_.add(new_pod, in_status ? std::string(new_pod->nominated_node_name) : nominator_.node_of(new_pod->uid()));
  if (where == Where::unschedulable || where == Where::gated) {
    entry.queued.pod = new_pod;
    return update_waiting(entry, pod_events(*old_pod, *new_pod), objects);
  }
  // Its position in the order may depend on what changed.
  detach(entry);
  entry.queued.pod = std::move(new_pod);
  entry.where = where;
  if (where == Where::active) {
    active_.insert(&entry);
  } else {
    (entry.error_backoff ? error_backoff_ : backoff_).insert(&entry);
  }
}

void Queue::update_waiting(Entry& entry, const std::vector<ClusterEvent>& events, const EventObjects& objects) {
  for (const ClusterEvent& event : events) {
    const Wake wake = judge(entry, event, objects);
    if (wake == Wake::no) continue;
    detach(entry);
    enqueue(entry, wake, event.label, event.actions == kUpdate);
    if (entry.where == Where::active || entry.where == Where::backoff) return;
  }
}

void Queue::activate(const std::vector<std::string>& uids) {
  for (std::string_view uid : uids) {
    if (in_flight_.contains(uid)) {
      EventObjects objects;
      auto target = std::make_shared<Pod>();
      target->metadata.uid = uid;
      objects.new_pod = std::move(target);
      record(kForceActivate, objects);
      continue;
    }
    auto found = entries_.find(uid);
    if (found == entries_.end() || found->second.where == Where::active) continue;
    Entry& entry = found->second;
    const bool backs_off = entry.where == Where::backoff;
    detach(entry);
    if (backs_off) {
      put_active(entry, kForceActivate.label);  // PreEnqueue ran when the pod entered backoff
    } else {
      enqueue(entry, Wake::at_once, kForceActivate.label);
    }
  }
}

}  // namespace berth
