// Decide: from the queue's head to an assumed pod and its binding cycle (kube-scheduler schedule_one.go ScheduleOne).
#include "core/check.h"
#include "core/gateway/gateway.h"

namespace berth {

namespace {
// Both bound a turn: the rest is tried in the next one, which a due timer starts at once. An attempt that finds no node
// among thousands, and none by preemption, takes milliseconds; one that does takes microseconds, and writes.
constexpr int kMaxAttemptsPerTurn = 64;
constexpr std::int64_t kDecideUs = 20'000;
}  // namespace

void Gateway::schedule_pending() {
  if (!options_.hold.empty() || !synced_ || identity_.adopting) return;
  const std::int64_t end_us = clock_.now_us() + kDecideUs;
  for (int attempt = 0; attempt < kMaxAttemptsPerTurn && (attempt == 0 || clock_.now_us() < end_us); ++attempt) {
    if (window_is_full()) return;
    Scheduler::Attempt attempted = scheduler_.schedule_one();
    if (!attempted.popped) return;
    if (attempted.binding != nullptr) start_binding(std::move(attempted.binding));
    deliver_permits();
  }
  turn_again();
}

void Gateway::enqueue(const std::shared_ptr<const Pod>& pod, const QueuePosition* kept) {
  if (framework_of(*pod) != nullptr) return kept == nullptr ? scheduler_.pod_added(pod) : queue_.restore(pod, *kept);
  conditions_[pod->metadata.key()] = {
      false, "Unschedulable",
      "spec.schedulerName: no profile \"" + pod->scheduler_name + "\" in this gateway; add it, or re-create the pod"};
}

void Gateway::start_binding(std::unique_ptr<BindingCycle> cycle) {
  const Text uid = cycle->queued.pod->metadata.uid;
  const auto [added, is_new] = bindings_.try_emplace(uid);
  CHECK(is_new);
  Binding& binding = added->second;
  binding.pod = cycle->queued.pod;
  binding.row.uid = uid;
  binding.row.pod = objects_.key_of(*binding.pod);
  binding.row.node = Text::common(cycle->node);
  binding.edit().cycle = std::move(cycle);
  binding.edit().task = binding_cycle(binding);
  reap(uid);
}

std::shared_ptr<const Pod> Gateway::find_unplaced(const Pod& pod) const {
  const PodEntry* entry = objects_.find_pod_by_uid(pod.uid());
  return entry == nullptr || entry->deleting || entry->finished ? nullptr : entry->pod;
}

bool Gateway::may_try(const Pod& pod) {
  std::string_view uid = pod.uid();
  const PodEntry* entry = objects_.find_pod_by_uid(uid);
  if (entry == nullptr || entry->deleting || entry->finished || bindings_.contains(uid)) return false;
  if (!may_run_elsewhere(uid)) return true;
  // It may run where the object was not known: it waits for that node's word, outside the queue.
  queue_.done(uid);
  ask_for_orphans(uid);
  return false;
}

void Gateway::record_event(const Pod& pod, const SchedulingEvent& event) {
  const Text key = objects_.key_of(pod);
  publisher_.event({key, Text::common(event.type), Text::common(event.reason), event.note}, event.node);
  publisher_.mark(Kind::pod, key);
  log_.write(Level::info, "event", {{"pod", key}, {"reason", std::string(event.reason)}, {"note", event.note}});
}

std::optional<PodCondition> Gateway::condition_of(const Pod& pod) const {
  const auto found = conditions_.find(pod.metadata.key());
  return found == conditions_.end() ? std::nullopt : std::optional(found->second);
}

// Where a pod is about to be bound is told by its row, and shown from there; what preemption promised is the pod's own,
// and outlives a restart.
void Gateway::patch_status(const Pod& pod, const StatusPatch& patch) {
  PodEntry* entry = objects_.find_pod_by_uid(pod.uid());
  if (entry == nullptr) return;
  const std::string key = pod.metadata.key();
  publisher_.mark(Kind::pod, key);
  if (patch.condition) conditions_[key] = *patch.condition;
  if (!patch.nominated_node || patch.expected || *patch.nominated_node == entry->pod->nominated_node_name) return;
  auto changed = std::make_shared<Pod>(*entry->pod);
  changed->nominated_node_name = *patch.nominated_node;
  const std::shared_ptr<const Pod> before = entry->pod;
  replace_pod(*entry, changed);
  if (saving_writes_) {
    deferred_writes_.insert(key);
  } else {
    objects_.save_pod(key);
  }
  if (!entry->deleting && queue_.where(pod.uid()) != Queue::Where::none) scheduler_.pod_updated(before, entry->pod);
}

// The device has prepared the pod: nothing else may refuse a binding.
Status Gateway::bind(const Pod& /*pod*/, const std::string& /*node*/) { return {}; }

// As a delete of its placement (P7): its resources are free when the device has proven it gone.
Status Gateway::evict(const Pod& victim, const Pod& preemptor) {
  PodEntry* entry = objects_.find_pod_by_uid(victim.uid());
  if (entry == nullptr || entry->deleting) return {};
  entry->disruption = preemptor.scheduler_name + ": preempting to accommodate a higher priority pod";
  remove_pod(*entry);
  return {};
}

void Gateway::node_chosen(const QueuedPod& queued) {
  metrics_.algorithm_duration.at().observe(seconds_between(queued.began_us, clock_.now_us()));
}

// A new version that differs in what only the gateway says of a pod.
void Gateway::replace_pod(PodEntry& entry, const std::shared_ptr<const Pod>& changed) {
  const std::string uid = changed->uid();
  objects_.put_pod(changed);
  if (auto found = bindings_.find(uid); found != bindings_.end()) found->second.pod = entry.pod;
  if (cache_.node_of(uid)) cache_.update(entry.pod);
}

}  // namespace berth
