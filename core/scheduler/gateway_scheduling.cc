// Decide: from the queue's head to an assumed pod and its binding cycle (kube-scheduler schedule_one.go ScheduleOne).
#include "core/scheduler/gateway.h"

namespace berth {

namespace {
// Bounds a turn: the rest is tried in the next one, which a due timer starts at once.
constexpr int kMaxAttemptsPerTurn = 64;
constexpr std::uint64_t kSampledCycles = 10;  // one in so many, as upstream
}  // namespace

void Gateway::pump() {
  if (!options_.hold.empty() || !synced_ || identity_.adopting) return;
  timers_.cancel(pump_timer_);
  for (int attempt = 0; attempt < kMaxAttemptsPerTurn; ++attempt) {
    if (rows_in_flight() >= options_.max_rows_in_flight) return;
    std::optional<QueuedPod> next = queue_->pop();
    if (!next) return;
    schedule(std::move(*next));
  }
  pump_timer_ = timers_.at(clock_.now(), [this] { pump_timer_ = 0; });
}

std::size_t Gateway::rows_in_flight() const {
  std::size_t count = 0;
  for (const auto& [uid, binding] : bindings_) {
    if (binding->row.phase == Phase::prebind || binding->row.phase == Phase::bind) ++count;
  }
  return count;
}

void Gateway::enqueue(const std::shared_ptr<const Pod>& pod) {
  if (framework_of(*pod) != nullptr) return queue_->add(pod);
  last_message_[pod->metadata.key()] =
      "spec.schedulerName: no profile \"" + pod->scheduler_name + "\" in this gateway; add it, or re-create the pod";
}

void Gateway::schedule(QueuedPod queued) {
  const std::string uid = queued.pod->uid();
  const PodEntry* entry = objects_.find_pod_by_uid(uid);
  if (entry == nullptr || entry->deleting || entry->finished || bindings_.contains(uid)) return queue_->remove(uid);
  if (may_run_elsewhere(uid)) {
    // It may run where the object was not known: it waits for that node's word, outside the queue.
    queue_->remove(uid);
    return ask_for_orphans(uid);
  }
  queued.pod = entry->pod;
  queued.began_us = clock_.now_us();
  const Pod& pod = *queued.pod;
  const Framework& framework = *framework_of(pod);
  cache_.update_snapshot(snapshot_);
  auto state = std::make_unique<CycleState>();
  state->sampled = cycles_++ % kSampledCycles == 0;
  ScheduleResult result = schedule_pod(framework, *state, pod, snapshot_, random_);
  if (!result.status.is_success()) return fail_attempt(std::move(queued), result);
  metrics_.algorithm_duration.at().observe(seconds_between(queued.began_us, clock_.now_us()));
  const std::string node = result.decision.node;
  Result<Reservation> reserved = Reservation::make(framework, cache_, std::move(state), queued.pod, node);
  if (!reserved) {
    result.status = reserved.error();
    return fail_attempt(std::move(queued), result);
  }
  std::map<std::string, Millis> waits;
  Status permit = framework.run_permit(reserved->state(), pod, node, waits);
  if (permit.is_success() || permit.is_wait()) {
    // Before the Permit wait, as upstream: an error here ends the attempt with nothing left waiting.
    if (Status flight = framework.run_pre_bind_pre_flight(reserved->state(), pod, node); !flight.is_success()) {
      permit = flight.is_skip() ? permit : flight;
    }
  }
  if (!permit.is_success() && !permit.is_wait()) {
    *reserved = Reservation();
    result.status = permit;
    if (permit.is_rejected()) result.diagnosis.unschedulable_plugins.insert(permit.plugin());
    return fail_attempt(std::move(queued), result);
  }
  start_binding(std::move(queued), std::move(*reserved), waits);
}

void Gateway::start_binding(QueuedPod queued, Reservation reservation, const std::map<std::string, Millis>& waits) {
  auto owned = std::make_unique<Binding>();
  Binding& binding = *owned;
  binding.pod = queued.pod;
  binding.row.uid = queued.pod->uid();
  binding.row.pod = queued.pod->metadata.key();
  binding.row.node = reservation.node();
  binding.queued = std::move(queued);
  binding.reservation = std::move(reservation);
  const std::string uid = binding.row.uid;
  for (const auto& [plugin, timeout] : waits) {
    binding.permit_waits[plugin] = timers_.at(clock_.now() + timeout, [this, uid, name = plugin] {
      feed_permit(uid, Status::unschedulable("timed out waiting on permit").with_plugin(name));
    });
  }
  bindings_.emplace(uid, std::move(owned));
  binding.task = binding_cycle(binding);
  reap(uid);
}

// kube-scheduler schedule_one.go handleSchedulingFailure.
void Gateway::fail_attempt(QueuedPod queued, const ScheduleResult& result) {
  const std::string key = queued.pod->metadata.key();
  const std::string why = result.diagnosis.nodes_total > 0 || !result.diagnosis.node_statuses.empty() ||
                                  !result.diagnosis.pre_filter_message.empty()
                              ? result.diagnosis.message()
                              : result.status.message();
  last_message_[key] = why;
  count_attempt(queued, result.status.is_rejected() ? "unschedulable" : "error");
  board_.event(key, "Warning", "FailedScheduling", why);
  board_.mark(Kind::pod, key);
  log_.write(Level::info, "pod does not fit now", {{"pod", key}, {"reason", why}});
  queue_->requeue(std::move(queued), result.status, result.diagnosis.unschedulable_plugins,
                  result.diagnosis.pending_plugins);
}

}  // namespace berth
