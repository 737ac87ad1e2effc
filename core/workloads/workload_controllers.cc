#include "core/workloads/workload_controllers.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/api/workload.h"
#include "core/controllers/cron_job/cron_job_controller.h"
#include "core/controllers/daemon_set/daemon_set_controller.h"
#include "core/controllers/deployment/deployment_controller.h"
#include "core/controllers/garbage_collector.h"
#include "core/controllers/job/job_controller.h"
#include "core/controllers/nodes/taint_eviction_controller.h"
#include "core/controllers/pod_control.h"
#include "core/controllers/replica_set/replica_set_controller.h"
#include "core/controllers/stateful_set/stateful_set_controller.h"
#include "core/controllers/ttl_after_finished_controller.h"
#include "core/workloads/known_time_zones.h"

namespace berth {
namespace {

// A synchronisation reads all pods of its workload, however little has changed. So, of the time, a fifth at most goes
// into reading: meanwhile more changes come, which are then read together. What takes less than this does not wait.
constexpr std::int64_t kReadingTimes = 4, kShortReadingUs = 1'000;

// So many pods of a ReplicaSet or DaemonSet one synchronisation makes or deletes; upstream's bursts of 500 and 250
// would take longer than a turn may.
constexpr int kPodsOfTurn = 150;

// Owners first: what they write is then synchronised in the same turn.
std::vector<std::unique_ptr<Controller>> all_controllers(const GatewayOptions& options) {
  std::vector<std::unique_ptr<Controller>> controllers;
  const TimeZoneFiles& zones = known_time_zones(options);
  controllers.push_back(std::make_unique<CronJobController>(zones));
  controllers.push_back(std::make_unique<DeploymentController>(zones));
  controllers.push_back(std::make_unique<ReplicaSetController>(ReplicaSet::kKind, kPodsOfTurn));
  controllers.push_back(std::make_unique<ReplicaSetController>(kReplicationController, kPodsOfTurn));
  controllers.push_back(std::make_unique<StatefulSetController>());
  controllers.push_back(std::make_unique<DaemonSetController>(zones, kPodsOfTurn));
  controllers.push_back(std::make_unique<JobController>());
  controllers.push_back(std::make_unique<TtlAfterFinishedController>());
  controllers.push_back(std::make_unique<TaintEvictionController>());
  return controllers;
}

}  // namespace

WorkloadControllers::WorkloadControllers(const PlacementContext& context, Placement& placement)
    : context_(context), cluster_(context, placement), manager_(cluster_, all_controllers(context.options)) {}

WorkloadControllers::~WorkloadControllers() { context_.timers.cancel(timer_); }

void WorkloadControllers::deliver() {
  for (const ObjectChange& change : cluster_.take_changes()) {
    manager_.observe(change);
    note_garbage(change);
  }
}

void WorkloadControllers::note_garbage(const ObjectChange& change) {
  if (may_have_garbage_) return;
  const bool is_gone = change.after == nullptr;
  // A pod that a device was found to run, or a mirror of another store, may come after its owner has gone.
  if (change.before == nullptr && has_absent_owner(*change.after)) {
    may_have_garbage_ = true;
    return;
  }
  if (!is_gone && change.after->kind == ControlledPod::kKind) return;
  if (is_gone && change.before->kind == ControlledPod::kKind) {
    may_have_garbage_ = cluster_.has_deleted_workload();  // which may wait for this pod
    return;
  }
  may_have_garbage_ = is_gone || change.after->metadata.deletion ||
                      (change.before != nullptr &&
                       change.before->metadata.owner_references.get() != change.after->metadata.owner_references.get());
}

bool WorkloadControllers::has_absent_owner(const ControlledObject& object) const {
  const std::vector<OwnerReference>& owners = object.metadata.owner_references.get();
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& each) {
    const ObjectPtr owner = cluster_.find(each.kind, {std::string(object.metadata.namespace_), each.name});
    return owner == nullptr || owner->metadata.uid != each.uid;
  });
}

// Until the broker has told what it retains, and the nodes what they run, what is missing may only be unknown (P8).
bool WorkloadControllers::knows_all() const {
  return context_.options.hold.empty() && !context_.identity->adopting && context_.mirror.barrier().is_synced();
}

Result<EvictionAnswer> WorkloadControllers::evict(const ObjectKey& pod) {
  if (!knows_all()) return Status::error("the gateway is still learning which pods run; try again");
  return cluster_.evict(pod);
}

bool WorkloadControllers::run(std::int64_t end_us) {
  if (!knows_all()) return false;
  manager_.wake();
  deliver();
  if (rests_) return false;
  const std::int64_t began_us = context_.clock.now_us();
  cluster_.take_writing_us();
  const bool has_more = run_all(end_us);
  const std::int64_t ended_us = context_.clock.now_us();
  const std::int64_t reading_us = ended_us - began_us - cluster_.take_writing_us();
  if (reading_us < kShortReadingUs) {
    if (!has_more) set_timer(manager_.next_wake());
    return has_more;
  }
  rests_ = true;
  set_timer(context_.clock.wall() + kReadingTimes * reading_us / 1000 + 1);
  return false;
}

bool WorkloadControllers::run_all(std::int64_t end_us) {
  for (;; deliver()) {
    while (manager_.sync_next()) {
      deliver();
      if (context_.clock.now_us() >= end_us) return true;
    }
    if (!may_have_garbage_) return false;
    bool has_changed = false;
    const bool is_cut = cluster_.with_removals(kPodsOfTurn, [&] { has_changed = collect_garbage(cluster_); });
    may_have_garbage_ = has_changed || is_cut;
    if (may_have_garbage_ && context_.clock.now_us() >= end_us) return true;
  }
}

void WorkloadControllers::set_timer(const std::optional<Millis>& next) {
  context_.timers.cancel(timer_);
  timer_ = 0;
  if (!next) return;
  const Millis wait = std::max<Millis>(*next - context_.clock.wall(), 1);
  timer_ = context_.timers.at(context_.clock.now() + wait, [this] {
    timer_ = 0;
    rests_ = false;
  });
}

}  // namespace berth
