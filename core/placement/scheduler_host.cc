// What the scheduler asks and reports of pods.
#include <algorithm>

#include "core/placement/pod_registry.h"

namespace berth {

namespace {
constexpr int kMaxAttemptsLabel = 15;  // as a label; from there on "15+" (schedule_one.go getAttemptsLabel)
}  // namespace

PodPtr PodRegistry::find_unplaced(const Pod& pod) const {
  const PodEntry* entry = context_.objects.pods().find_by_uid(pod.uid());
  return entry == nullptr || entry->deleting || entry->finished ? nullptr : entry->pod;
}

bool PodRegistry::may_try(const Pod& pod) {
  std::string_view uid = pod.uid();
  const PodEntry* entry = context_.objects.pods().find_by_uid(uid);
  if (entry == nullptr || entry->deleting || entry->finished || parts_.state.bindings.contains(uid)) return false;
  if (!parts_.releases.may_run_elsewhere(pod)) return true;
  // It may run where the object was not known: it waits for that node's listing, outside the queue.
  parts_.scheduler.queue().done(uid);
  parts_.releases.list_nodes_of_orphans(uid);
  return false;
}

void PodRegistry::record_event(const Pod& pod, const SchedulingEvent& event) {
  const Text key = context_.objects.pods().key_of(pod);
  context_.events.record({Kind::pod, key, Text::common(event.type), Text::common(event.reason), event.note, {}},
                         event.node);
  context_.publisher.mark(Kind::pod, key);
  context_.log.write(Level::info, "event", {{"pod", key}, {"reason", std::string(event.reason)}, {"note", event.note}});
}

std::optional<PodCondition> PodRegistry::condition_of(const Pod& pod) const {
  const PodEntry* entry = context_.objects.pods().find(pod.metadata.key());
  return entry == nullptr ? std::nullopt : entry->extras().condition;
}

// Where a pod is about to be bound is known by its row, and shown from there; a nomination by preemption is the pod's
// own, and outlives a restart.
void PodRegistry::patch_status(const Pod& pod, const StatusPatch& patch) {
  PodEntry* entry = context_.objects.pods().find_by_uid(pod.uid());
  if (entry == nullptr) return;
  const std::string key = pod.metadata.key();
  context_.publisher.mark(Kind::pod, key);
  if (patch.condition) entry->edit_extras([&patch](PodExtras& extras) { extras.condition = patch.condition; });
  if (!patch.nominated_node || patch.expected || *patch.nominated_node == entry->pod->nominated_node_name) return;
  auto changed = make_counted<Pod>(*entry->pod);
  changed->nominated_node_name = *patch.nominated_node;
  const PodPtr before = entry->pod;
  replace(*entry, changed);
  if (saving_writes_) {
    entry->unsaved = true;
  } else {
    context_.objects.pods().save(key);
  }
  if (!entry->deleting && parts_.scheduler.queue().where(pod.uid()) != Queue::Where::none)
    parts_.scheduler.handlers().pod_updated(before, entry->pod);
}

// As a delete of its placement (P7): its resources are free when the device has proven it gone.
Status PodRegistry::evict(const Pod& victim, const Pod& preemptor) {
  PodEntry* entry = context_.objects.pods().find_by_uid(victim.uid());
  if (entry == nullptr || entry->deleting) return {};
  set_disruption(*entry, preemptor.spec->scheduler_name + ": preempting to accommodate a higher priority pod");
  remove(*entry);
  return {};
}

void PodRegistry::node_chosen(const QueuedPod& queued) {
  context_.metrics.algorithm_duration.at().observe(seconds_between(queued.began_us, context_.clock.now_us()));
}

void PodRegistry::attempt_ended(const QueuedPod& queued, std::string_view result) {
  if (queued.began_us < 0) return;  // of an earlier run
  const std::string& profile = queued.pod->spec->scheduler_name;
  context_.metrics.schedule_attempts.at({profile, result}).add();
  context_.metrics.attempt_duration.at({profile, result})
      .observe(seconds_between(queued.began_us, context_.clock.now_us()));
  if (result != "scheduled") return;
  context_.metrics.attempts.at().observe(queued.attempts);
  const std::string label =
      std::to_string(std::min(queued.attempts, kMaxAttemptsLabel)) + (queued.attempts >= kMaxAttemptsLabel ? "+" : "");
  if (queued.initial_attempt < 0) return;
  context_.metrics.sli_duration.at({label}).observe(static_cast<double>(context_.clock.now() - queued.initial_attempt) /
                                                    1000);
}

}  // namespace berth
