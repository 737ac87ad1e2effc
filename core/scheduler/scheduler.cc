#include "core/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/framework/missing_declarations.h"
#include "core/objects/object_events.h"
#include "core/scheduler/named_node.h"

namespace berth {

namespace {

constexpr std::size_t kNoteBytes = 1024;
constexpr std::uint64_t kSampledCycles = 10;  // one of so many measures its plugins (schedule_one.go)

Queue::Options counted(Queue::Options options, Metrics* metrics) {
  options.metrics = metrics;
  return options;
}

std::string note_of(const std::string& message) {
  constexpr std::string_view kCut = " ...";
  if (message.size() <= kNoteBytes) return message;
  std::size_t bytes = kNoteBytes - kCut.size();
  while (bytes > 0 && (static_cast<unsigned char>(message[bytes]) & 0xc0u) == 0x80u) --bytes;  // not inside a character
  return message.substr(0, bytes) + std::string(kCut);
}

void warn_of_missing_declarations(const Framework& framework, Log& log) {
  for (const MissingDeclaration& missing : missing_declarations(framework)) {
    log.write(Level::warn, "plugin does not declare what it reads",
              {{"profile", framework.scheduler_name()},
               {"plugin", missing.plugin},
               {"points", missing.points},
               {"cost", missing.cost}});
  }
}

}  // namespace

Scheduler::Scheduler(const Clock& clock, const Lister& lister, SchedulerHost& host, Options options)
    : clock_(clock),
      lister_(lister),
      host_(host),
      metrics_(options.metrics),
      random_(options.seed),
      queue_(
          clock, [this](const Pod& pod) { return framework_of(pod); }, counted(options.queue, options.metrics)),
      handlers_(queue_, cache_),
      log_(options.log),
      evaluator_(std::move(options.evaluator)) {
  search_.nominator = &queue_.nominator();
  search_.pick = std::move(options.pick);
  search_.random = &random_;
}

Status Scheduler::add_profile(const Registry& registry, const Profile& profile) {
  Result<std::unique_ptr<Framework>> framework = Framework::make(registry, profile, *this);
  if (!framework) return framework.error();
  const bool is_known = std::any_of(frameworks_.begin(), frameworks_.end(), [&profile](const Named& each) {
    return each.scheduler_name == profile.scheduler_name;
  });
  if (is_known) {
    return Status::error(at_path(profile.path, "schedulerName: two profiles are named \"" + profile.scheduler_name +
                                                   "\"; name each differently"));
  }
  frameworks_.push_back({Text::common(profile.scheduler_name), std::move(*framework)});
  if (evaluator_ != nullptr && log_ != nullptr) warn_of_missing_declarations(*frameworks_.back().framework, *log_);
  return {};
}

const Framework* Scheduler::framework_of(const Pod& pod) const {
  const Text& name = pod.spec->scheduler_name;
  const auto found = std::find_if(frameworks_.begin(), frameworks_.end(),
                                  [&name](const Named& each) { return each.scheduler_name == name; });
  return found == frameworks_.end() ? nullptr : found->framework.get();
}

// schedule_one.go skipPodSchedule.
bool Scheduler::skips(const Pod& pod, const Framework* framework) {
  if (pod.metadata.deleting) {
    host_.record_event(
        pod, {"Warning", "FailedScheduling", "Scheduling", "skip schedule deleting pod: " + pod.metadata.key()});
    return true;
  }
  return cache_.is_assumed(pod.uid()) || framework == nullptr || !host_.may_try(pod);
}

Explanation Scheduler::explain(const Pod& pod, const std::string& excluded_uid, const ExplainOptions& options) {
  const Framework* framework = framework_of(pod);
  CHECK(framework != nullptr);
  return explain_on({cache_, snapshot_, random_, search_}, *framework, pod, excluded_uid, options);
}

bool Scheduler::prepare() {
  const Pod* const next = queue_.next();
  if (next == nullptr || evaluator_ == nullptr) return false;
  const Framework* const framework = framework_of(*next);
  return framework != nullptr && preparation_.prepare(*evaluator_, *framework, *next, search_, handlers_.needs());
}

bool Scheduler::prepare_ahead() { return evaluator_ != nullptr && preparation_.prepare_ahead(handlers_.needs()); }

Scheduler::Attempt Scheduler::schedule_one() {
  preparation_.end();
  std::optional<QueuedPod> queued = queue_.pop();
  if (!queued) return {};
  Attempt attempt;
  attempt.popped = true;
  queued->began_us = clock_.now_us();
  const Framework* framework = framework_of(*queued->pod);
  if (skips(*queued->pod, framework)) {
    if (queued->pod->metadata.deleting) let_go(*queued->pod);
    queue_.done(queued->pod->uid());
  } else {
    attempt.binding = try_pod(*framework, std::move(*queued));
  }
  return attempt;
}

// No queue holds the pod any more. Upstream looks a nominated pod up in the queues and knows only the name of one that
// is in none (scheduling_queue.go nominatedPodToInfo): it keeps its nomination, without requests and priority.
void Scheduler::let_go(const Pod& pod) {
  auto bare = make_counted<Pod>();
  bare->metadata.name = pod.metadata.name;
  bare->metadata.namespace_ = pod.metadata.namespace_;
  bare->metadata.uid = pod.metadata.uid;
  queue_.nominator().replace(std::move(bare));
}

// schedule_one.go schedulingCycle, and the part of bindingCycle that cannot wait.
std::unique_ptr<BindingCycle> Scheduler::try_pod(const Framework& framework, QueuedPod&& queued) {
  cache_.update_snapshot(snapshot_);
  auto state = std::make_unique<CycleState>();
  state->sampled = cycles_++ % kSampledCycles == 0;
  ScheduleResult result = find_node(framework, *state, *queued.pod, snapshot_, search_, evaluator_.get());
  if (!result.status.is_success()) {
    if (!result.victims.empty()) preempt(queued.pod, result);
    Failure failure{result.status, {}, {}, result.nominated_node};
    if (result.status.is_rejected()) {
      failure.unschedulable_plugins = std::move(result.diagnosis.unschedulable_plugins);
      failure.pending_plugins = std::move(result.diagnosis.pending_plugins);
    }
    handle_failure(std::move(queued), failure);
    return nullptr;
  }
  host_.node_chosen(queued);
  read_ahead_.note(result.decision.likely_later, snapshot_);
  const std::string& node = result.decision.node;
  queue_.nominator().remove(queued.pod->uid());  // from here on it counts as assumed
  Result<Reservation> reserved = Reservation::make(framework, cache_, std::move(state), queued.pod, node);
  if (!reserved) {
    handle_failure(std::move(queued), rejected_on_node(reserved.error()));
    return nullptr;
  }
  auto cycle = std::make_unique<BindingCycle>();
  cycle->framework = &framework;
  cycle->node = node;
  cycle->queued = std::move(queued);
  cycle->reservation.emplace(std::move(*reserved));
  std::map<std::string, Millis> waits;
  if (Status status = permit(*cycle, waits); !status.is_success()) {
    cycle->reservation.reset();
    handle_failure(std::move(cycle->queued), rejected_on_node(status));
    return nullptr;
  }
  activate(cycle->reservation->state());
  return reserve_and_permit(std::move(cycle), waits);
}

// Success: `waits` says who holds the pod back, if anybody.
Status Scheduler::permit(BindingCycle& cycle, std::map<std::string, Millis>& waits) {
  Reservation& reservation = *cycle.reservation;
  if (!cycle.queued.pod->node_name.empty()) return {};  // not the scheduler's decision: see named_node.h
  Status status =
      cycle.framework->binding().run_permit(reservation.state(), *cycle.queued.pod, reservation.node(), waits);
  return status.is_wait() ? Status() : status;
}

// PreBindPreFlight, and the nomination that tells others where the pod is about to be bound. Upstream lists the pod as
// waiting before PreBindPreFlight and leaves it there when that fails; ours is listed when it really waits.
std::unique_ptr<BindingCycle> Scheduler::reserve_and_permit(std::unique_ptr<BindingCycle> cycle,
                                                            const std::map<std::string, Millis>& waits) {
  const PodPtr pod = cycle->queued.pod;
  Reservation& reservation = *cycle->reservation;
  const Status flight =
      cycle->framework->binding().run_pre_bind_pre_flight(reservation.state(), *pod, reservation.node());
  if (!flight.is_success() && !flight.is_skip()) {
    fail_binding(*cycle, flight);
    return nullptr;
  }
  cycle->waits = !waits.empty();
  if (cycle->waits) waiting_pods().add(pod, reservation.node(), waits, clock_.now());
  if ((flight.is_success() || cycle->waits) && pod->nominated_node_name != reservation.node()) {
    host_.patch_status(*pod, {std::nullopt, reservation.node(), true});
  }
  read_ahead_.go_on(snapshot_, cache_, queue_);
  return cycle;
}

// A rejection on the chosen node is reported as that of one node; it clears the nomination and runs no PostFilter.
Scheduler::Failure Scheduler::rejected_on_node(const Status& status) {
  if (!status.is_rejected()) return {status, {}, {}, ""};
  Diagnosis diagnosis;
  diagnosis.nodes_total = 1;
  diagnosis.node_statuses.reset(1);
  diagnosis.node_statuses.set(0, status);
  Failure failure{Status(status.code(), diagnosis.message()), {status.plugin()}, {}, ""};
  if (status.code() == Code::pending) failure.pending_plugins.insert(status.plugin());
  return failure;
}

void Scheduler::activate(CycleState& state) {
  if (!state.activates_pods()) return;
  const std::set<std::string> wanted = std::exchange(state.pods_to_activate(), {});
  queue_.activate({wanted.begin(), wanted.end()});
}

// framework/preemption/preemption.go prepareCandidate. A victim that cannot be evicted ends it: the pod is not
// nominated, and tries again.
void Scheduler::preempt(const PodPtr& pod, ScheduleResult& result) {
  CHECK(result.nominated_node.has_value());
  const std::string node = *result.nominated_node;
  bool evicts = false;
  for (const auto& victim : result.victims) {
    if (victim->metadata.deleting) continue;  // already being deleted
    evicts = true;
    if (!waiting_pods().reject(victim->uid(), result.post_filter_plugin, "preempted")) {
      if (Status evicted = host_.evict(*victim, *pod); !evicted.is_success()) {
        result.nominated_node.reset();
        result.diagnosis.post_filter_message = evicted.message();
        result.status = Status::unschedulable(result.diagnosis.message());
        return;
      }
    }
    host_.record_event(*victim,
                       {"Normal", "Preempted", "Preempting", "Preempted by pod " + pod->uid() + " on node " + node});
  }
  // Upstream returns before the nominations if nothing is left to evict (executor.go prepareCandidateAsync).
  if (!evicts) return;
  // Nominations of lower priority no longer fit there; their pods look for another node.
  const std::vector<PodPtr> promised = queue_.nominator().pods_on(node);
  for (const auto& other : promised) {
    if (other->priority >= pod->priority) continue;
    queue_.nominator().remove(other->uid());
    host_.patch_status(*other, {std::nullopt, "", false});
  }
}

void Scheduler::leave_queue(BindingCycle& cycle) { queue_.done(cycle.queued.pod->uid()); }

Status Scheduler::pre_bind(BindingCycle& cycle, PlacementRequest& request) {
  Reservation& reservation = *cycle.reservation;
  return cycle.framework->binding().run_pre_bind(reservation.state(), *reservation.pod(), reservation.node(), request);
}

Status Scheduler::bind(BindingCycle& cycle) {
  Reservation& reservation = *cycle.reservation;
  return cycle.framework->binding().run_bind(reservation.state(), *reservation.pod(), reservation.node());
}

void Scheduler::finish_binding(BindingCycle& cycle) {
  const std::string key = cycle.queued.pod->metadata.key();
  host_.attempt_ended(cycle.queued, "scheduled");
  const std::string note = "Successfully assigned " + key + " to " + cycle.node;
  host_.record_event(*cycle.queued.pod, {"Normal", "Scheduled", "Binding", note, cycle.node});
}

void Scheduler::post_bind(BindingCycle& cycle) {
  if (!cycle.reservation) return;
  Reservation& reservation = *cycle.reservation;
  cycle.framework->binding().run_post_bind(reservation.state(), *reservation.pod(), reservation.node());
  activate(reservation.state());
  reservation.commit();
}

// PreBindPreFlight, PreBind, Bind: even a rejection waits for time alone, no plugin is asked what may cure it.
void Scheduler::fail_binding(BindingCycle& cycle, const Status& status) { end_binding(cycle, {status, {}, {}, ""}); }

void Scheduler::reject_waiting(BindingCycle& cycle, const Status& status) {
  end_binding(cycle, rejected_on_node(status));
}

// schedule_one.go handleBindingCycleError. What a rejected pod released must not wake the pod itself: others are woken
// once it is back in the queue.
void Scheduler::end_binding(BindingCycle& cycle, const Failure& failure) {
  const PodPtr pod = cycle.queued.pod;
  cycle.reservation.reset();  // Unreserve, forget
  if (!failure.status.is_rejected()) handlers_.wake_freed(*pod, cycle.node);
  handle_failure(std::move(cycle.queued), failure);
  if (failure.status.is_rejected()) {
    handlers_.wake_freed(*pod, cycle.node, [&pod](const Pod& other) { return other.uid() != pod->uid(); });
  }
}

// schedule_one.go handleSchedulingFailure.
void Scheduler::handle_failure(QueuedPod queued, const Failure& failure) {
  const PodPtr tried = queued.pod;
  host_.attempt_ended(queued, failure.status.is_rejected() ? "unschedulable" : "error");
  const PodPtr newest = host_.find_unplaced(*tried);
  if (newest == nullptr) {
    queue_.done(tried->uid());
    queue_.nominator().remove(tried->uid());
  } else {
    queued.pod = newest;
    queue_.requeue(std::move(queued), failure.status, failure.unschedulable_plugins, failure.pending_plugins);
    nominate(newest, failure.nominated_node);
  }
  if (failure.status.is_skip()) return;  // every Bind plugin skipped: upstream reports nothing
  const PodCondition condition{false, failure.status.is_rejected() ? "Unschedulable" : "SchedulerError",
                               failure.status.message()};
  host_.record_event(*tried, {"Warning", "FailedScheduling", "Scheduling", note_of(condition.message)});
  StatusPatch patch;
  if (host_.condition_of(*tried) != condition) patch.condition = condition;
  if (failure.nominated_node && *failure.nominated_node != tried->nominated_node_name) {
    patch.nominated_node = failure.nominated_node;
  }
  if (patch.condition || patch.nominated_node) host_.patch_status(*tried, patch);
}

void Scheduler::nominate(const PodPtr& pod, const std::optional<std::string>& node) {
  queue_.nominator().add(pod, node.value_or(pod->nominated_node_name));
}

}  // namespace berth
