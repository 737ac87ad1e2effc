// What requeues a waiting pod: events, changes of the pod itself, and activation on demand.
#include <algorithm>

#include "core/api/pod.h"
#include "core/queue/queue.h"

namespace berth {

namespace {

constexpr ClusterEvent kForceActivate{EventResource::wildcard, kAllActions, "ForceActivate"};

}  // namespace

void Queue::move_all(const ClusterEvent& event, const EventObjects& objects, const PreCheck& pre_check) {
  if (!hints_.is_of_interest(event)) return;
  in_flight_.record(event, objects);
  std::map<QueueEntry*, QueueingStrategy, QueueEntry::UidOrder> requeued;
  const auto judge_all = [&](const QueueParts::Waiting& entries) {
    for (QueueEntry* entry : entries) {
      if (pre_check && !pre_check(*entry->queued.pod)) continue;
      const QueueingStrategy strategy = hints_.judge(*entry, event, objects);
      if (strategy != QueueingStrategy::skip) requeued.emplace(entry, strategy);
    }
  };
  judge_all(parts_.unschedulable());
  for (const auto& [gate, entries] : parts_.gates()) {
    if (!entries.empty() && QueueingHints::can_ungate(**entries.begin(), event)) judge_all(entries);
  }
  for (const auto& [entry, strategy] : requeued) {
    parts_.detach(*entry);
    enqueue(*entry, strategy, event.label);
  }
}

void Queue::update(const PodPtr& old_pod, PodPtr new_pod) {
  EventObjects objects;
  objects.old_pod = old_pod;
  objects.new_pod = new_pod;
  if (in_flight_.contains(new_pod->uid())) {
    for (const ClusterEvent& event : pod_events(*old_pod, *new_pod)) in_flight_.record(event, objects);
    in_flight_.update(objects.new_pod->uid(), std::move(new_pod));
    return;
  }
  auto found = entries_.find(new_pod->uid());
  if (found == entries_.end()) return add(std::move(new_pod));
  QueueEntry& entry = found->second;
  // A nomination that neither version of the pod has (made by preemption meanwhile) is kept, but moves to the end of
  // the node's list.
  const bool in_status = !old_pod->nominated_node_name.empty() || !new_pod->nominated_node_name.empty();
  nominator_.add(new_pod, in_status ? std::string(new_pod->nominated_node_name) : nominator_.node_of(new_pod->uid()));
  parts_.replace_pod(entry, new_pod);
  if (entry.part == Where::unschedulable || entry.part == Where::gated) {
    update_waiting(entry, pod_events(*old_pod, *new_pod), objects);
  }
}

void Queue::update_waiting(QueueEntry& entry, const std::vector<ClusterEvent>& events, const EventObjects& objects) {
  for (const ClusterEvent& event : events) {
    const QueueingStrategy strategy = hints_.judge(entry, event, objects);
    if (strategy == QueueingStrategy::skip) continue;
    parts_.detach(entry);
    enqueue(entry, strategy, event.label, event.actions == kUpdate);
    if (entry.part == Where::active || entry.part == Where::backoff) return;
  }
}

void Queue::activate(const std::vector<std::string>& uids) {
  for (std::string_view uid : uids) {
    if (in_flight_.contains(uid)) {
      EventObjects objects;
      auto target = make_counted<Pod>();
      target->metadata.uid = uid;
      objects.new_pod = std::move(target);
      in_flight_.record(kForceActivate, objects);
      continue;
    }
    auto found = entries_.find(uid);
    if (found == entries_.end() || found->second.part == Where::active) continue;
    QueueEntry& entry = found->second;
    const bool backs_off = entry.part == Where::backoff;
    parts_.detach(entry);
    if (backs_off) {
      put_active(entry, kForceActivate.label);  // PreEnqueue ran when the pod entered backoff
    } else {
      enqueue(entry, QueueingStrategy::immediately, kForceActivate.label);
    }
  }
}

}  // namespace berth
