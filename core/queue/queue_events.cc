// What wakes a waiting pod: events, changes of the pod itself, and what happened while it was in flight.
#include <algorithm>

#include "core/framework/framework.h"
#include "core/queue/queue.h"

namespace berth {

namespace {

constexpr ClusterEvent kForceActivate{EventResource::wildcard, kAllActions, "ForceActivate"};

// What changed of a pod that waits, as the events a plugin may register for (kube-scheduler framework/events.go).
std::vector<ClusterEvent> changes(const Pod& before, const Pod& after) {
  std::vector<ClusterEvent> events;
  auto add = [&events](std::uint32_t action, std::string_view label) {
    events.push_back({EventResource::pod, action, label});
  };
  if (before.metadata.labels != after.metadata.labels) add(kUpdatePodLabel, "PodLabelUpdate");
  if (before.tolerations != after.tolerations) add(kUpdatePodToleration, "PodTolerationUpdate");
  if (!before.scheduling_gates.empty() && after.scheduling_gates.empty()) {
    add(kUpdatePodSchedulingGatesEliminated, "PodSchedulingGatesEliminated");
  }
  if (events.empty()) add(kUpdate, "PodUpdate");
  return events;
}

}  // namespace

Queue::Wake Queue::judge(const Entry& entry, const ClusterEvent& event, const EventObjects& objects) const {
  const QueuedPod& queued = entry.queued;
  if (!queued.gating_plugin.empty()) {
    const auto& asked = entry.framework->events_of(queued.gating_plugin);
    const bool heard =
        std::any_of(asked.begin(), asked.end(), [&](const auto& each) { return each.event.matches(event); });
    if (!heard) return Wake::no;
  }
  if (queued.unschedulable_plugins.empty()) return Wake::after_backoff;
  if (event.resource == EventResource::wildcard) return Wake::after_backoff;
  Wake wake = Wake::no;
  for (const std::string& plugin : queued.unschedulable_plugins) {
    for (const EventWithHint& asked : entry.framework->events_of(plugin)) {
      if (!asked.event.matches(event)) continue;
      if (asked.hint && asked.hint(*queued.pod, objects) == Hint::skip) continue;
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
  record(event, objects);
  std::vector<std::pair<Entry*, Wake>> woken;
  for (const std::string& uid : waiting_) {
    Entry& entry = entries_.at(uid);
    if (pre_check && !pre_check(*entry.queued.pod)) continue;
    const Wake wake = judge(entry, event, objects);
    if (wake != Wake::no) woken.emplace_back(&entry, wake);
  }
  for (const auto& [entry, wake] : woken) {
    detach(*entry);
    place(*entry, wake);
  }
}

void Queue::update(std::shared_ptr<const Pod> old_pod, std::shared_ptr<const Pod> new_pod) {
  EventObjects objects;
  objects.old_pod = old_pod;
  objects.new_pod = new_pod;
  if (auto flight = in_flight_.find(new_pod->uid()); flight != in_flight_.end()) {
    for (const ClusterEvent& event : changes(*old_pod, *new_pod)) record(event, objects);
    flight->second.updated = std::move(new_pod);
    return;
  }
  auto found = entries_.find(new_pod->uid());
  if (found == entries_.end()) return add(std::move(new_pod));
  Entry& entry = found->second;
  const Where where = entry.where;
  if (where == Where::unschedulable || where == Where::gated) {
    entry.queued.pod = new_pod;
    return update_waiting(entry, changes(*old_pod, *new_pod), objects);
  }
  // Its place in the order may depend on what changed.
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
    place(entry, wake);
    if (entry.where == Where::active || entry.where == Where::backoff) return;
  }
}

void Queue::activate(const std::vector<std::string>& uids) {
  for (const std::string& uid : uids) {
    if (in_flight_.contains(uid)) {
      record(kForceActivate, {});
      continue;
    }
    auto found = entries_.find(uid);
    if (found == entries_.end() || found->second.where == Where::active) continue;
    detach(found->second);
    place(found->second, Wake::at_once);
  }
}

}  // namespace berth
