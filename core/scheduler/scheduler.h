// Scheduler: takes one pod after another from the queue to a node and handles failures; owns queue, cache, snapshot,
// profiles, nominations and waiting pods (kube-scheduler pkg/scheduler/schedule_one.go, eventhandlers.go).
//
//   schedule_one: pop ─▶ scheduling cycle ─▶ assume ─▶ Reserve ─▶ Permit ─▶ PreBindPreFlight ──▶ BindingCycle
//                                    └─────────┴──────────┴────────┴─────▶ failure ◀──────────────────┐
//   its owner:    [wait on Permit] ─▶ leave_queue ─▶ pre_bind ─▶ bind ─▶ finish_binding ─▶ post_bind   │
//                        └──────────────────────────────┴─────────┴────────────────────────────────────┘
//
// It decides and calls its host back, which keeps objects, carries out bindings and reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/clock.h"
#include "core/framework/framework.h"
#include "core/log.h"
#include "core/objects/objects.h"
#include "core/queue/queue.h"
#include "core/random.h"
#include "core/scheduler/binding_cycle.h"
#include "core/scheduler/event_handlers.h"
#include "core/scheduler/explanation.h"
#include "core/scheduler/node_evaluator.h"
#include "core/scheduler/preparation.h"
#include "core/scheduler/read_ahead.h"
#include "core/scheduler/reservation.h"
#include "core/scheduler/scheduling_cycle.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

// A change of a pod's status; what is absent stays.
struct StatusPatch {
  std::optional<PodCondition> condition;
  std::optional<std::string> nominated_node;  // "": cleared
  // The nomination says where the pod is about to be bound (NominatedNodeNameForExpectation), not what preemption
  // promised.
  bool expected = false;
};

// An event of a pod, as kubectl shows it.
struct SchedulingEvent {
  std::string_view type;    // "Normal", "Warning"
  std::string_view reason;  // "Scheduled", "FailedScheduling", "Preempted"
  std::string_view action;  // "Binding", "Scheduling", "Preempting"
  std::string note;         // at most 1024 bytes
  std::string node = {};    // "Scheduled": where
};

// What the scheduler needs from its owner. evict() and patch_status() may call the informer functions at once for what
// they changed; the others may not.
class SchedulerHost : public Binder {
 public:
  // The newest version known; null when the pod is gone or has a node.
  virtual PodPtr find_unplaced(const Pod& pod) const = 0;
  // Called after the pop. False: the pod is not tried now; the host queues it again.
  virtual bool may_try(const Pod& /*pod*/) { return true; }
  virtual void record_event(const Pod& pod, const SchedulingEvent& event) = 0;
  // Of `pod`, the version that was tried.
  virtual std::optional<PodCondition> condition_of(const Pod& pod) const = 0;
  virtual void patch_status(const Pod& pod, const StatusPatch& patch) = 0;
  // Sets the victim's condition DisruptionTarget and deletes it. It does not wait on Permit. An error ends the
  // preemption.
  virtual Status evict(const Pod& victim, const Pod& preemptor) = 0;
  // For metrics: a node was chosen; an attempt ended, `result` is "scheduled", "unschedulable" or "error".
  virtual void node_chosen(const QueuedPod& /*queued*/) {}
  virtual void attempt_ended(const QueuedPod& /*queued*/, std::string_view /*result*/) {}
};

class Scheduler final : public Handle {
 public:
  struct Options {
    Queue::Options queue;
    std::uint64_t seed = 0;      // of equal totals and of draw()
    PickNode pick;               // empty: uniformly, from the seed
    Metrics* metrics = nullptr;  // null: nothing is counted
    // Tried first for each pod, with equal decisions (core/fastpath); null: the plugins judge every node.
    std::unique_ptr<NodeEvaluator> evaluator = {};
    Log* log = nullptr;  // null: nothing is logged
  };
  // All outlive it.
  Scheduler(const Clock& clock, const Lister& lister, SchedulerHost& host, Options options);
  // Two profiles of one name, or one that cannot be made: an error. With an evaluator a warning is logged for each
  // plugin that leaves out a declaration, with what that costs.
  Status add_profile(const Registry& registry, const Profile& profile);
  // Null: no profile of that name.
  const Framework* framework_of(const Pod& pod) const;

  // Changes of nodes and pods are given to these.
  EventHandlers& handlers() { return handlers_; }

  struct Attempt {
    bool popped = false;                    // false: nothing may be tried now
    std::unique_ptr<BindingCycle> binding;  // null: the attempt has failed, and the pod is where that puts it
  };
  // Pops a pod and runs it up to the wait on Permit.
  Attempt schedule_one();

  // Does a part of what schedule_one() would do for all nodes at once before it decides; none when no pod is ready.
  // False: nothing was left to do. prepare_ahead(): the same for pods to come.
  bool prepare();
  bool prepare_ahead();

  // Runs a scheduling cycle of the pod, whose profile must exist, on trial, as if the pod of uid `excluded_uid` were
  // not placed. Changes neither queue nor cache nor any later decision.
  Explanation explain(const Pod& pod, const std::string& excluded_uid, const ExplainOptions& options);

  // The stages of a binding cycle, in this order. A failure is handed to fail_binding() (a rejection while it waited:
  // to reject_waiting()), which ends the cycle. With `waits`, the first stage comes after waiting_pods() decided.
  void leave_queue(BindingCycle& cycle);  // later events do not wake it
  Status pre_bind(BindingCycle& cycle, PlacementRequest& request);
  Status bind(BindingCycle& cycle);
  void finish_binding(BindingCycle& cycle);  // the node has the pod
  void post_bind(BindingCycle& cycle);
  // Unreserve, forget, wake others, back to the queue with event and condition.
  void fail_binding(BindingCycle& cycle, const Status& status);
  void reject_waiting(BindingCycle& cycle, const Status& status);

  void refresh_snapshot() { cache_.update_snapshot(snapshot_); }

  // Null: the plugins judge every node.
  NodeEvaluator* evaluator() { return evaluator_.get(); }
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }
  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }

  const Clock& clock() const override { return clock_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return lister_; }
  const Nominator& nominator() const override { return queue_.nominator(); }
  Metrics* metrics() override { return metrics_; }
  std::uint64_t draw(std::uint64_t bound) override { return random_.below(bound); }
  Binder& binder() override { return host_; }

 private:
  // Why an attempt failed, and what follows for the pod.
  struct Failure {
    Status status;
    std::set<std::string> unschedulable_plugins;
    std::set<std::string> pending_plugins;
    std::optional<std::string> nominated_node = "";  // as ScheduleResult::nominated_node
  };
  static Failure rejected_on_node(const Status& status);
  bool skips(const Pod& pod, const Framework* framework);
  void let_go(const Pod& pod);
  std::unique_ptr<BindingCycle> try_pod(const Framework& framework, QueuedPod&& queued);
  std::unique_ptr<BindingCycle> reserve_and_permit(std::unique_ptr<BindingCycle> cycle,
                                                   const std::map<std::string, Millis>& waits);
  Status permit(BindingCycle& cycle, std::map<std::string, Millis>& waits);
  // Carries out what PostFilter decided.
  void preempt(const PodPtr& pod, ScheduleResult& result);
  void end_binding(BindingCycle& cycle, const Failure& failure);
  void handle_failure(QueuedPod queued, const Failure& failure);
  void nominate(const PodPtr& pod, const std::optional<std::string>& node);
  void activate(CycleState& state);

  const Clock& clock_;
  const Lister& lister_;
  SchedulerHost& host_;
  Metrics* metrics_;
  Random random_;
  std::uint64_t cycles_ = 0;
  Cache cache_;
  Snapshot snapshot_;
  Preparation preparation_{cache_, snapshot_};
  struct Named {
    Text scheduler_name;
    std::unique_ptr<Framework> framework;
  };
  std::vector<Named> frameworks_;  // few
  Queue queue_;
  EventHandlers handlers_;
  NodeSearch search_;
  ReadAhead read_ahead_;
  Log* log_;
  std::unique_ptr<NodeEvaluator> evaluator_;  // destroyed before the frameworks: it keeps results of their plugins
};

}  // namespace berth
