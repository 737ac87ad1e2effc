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
#include "core/controllers/replica_set/replica_set_controller.h"
#include "core/controllers/stateful_set/stateful_set_controller.h"
#include "core/controllers/ttl_after_finished_controller.h"
#include "core/workloads/known_time_zones.h"

namespace berth {
namespace {

// Owners first: what they write is then synchronised in the same turn.
std::vector<std::unique_ptr<Controller>> all_controllers(const GatewayOptions& options) {
  std::vector<std::unique_ptr<Controller>> controllers;
  const TimeZoneFiles& zones = known_time_zones(options);
  controllers.push_back(std::make_unique<CronJobController>(zones));
  controllers.push_back(std::make_unique<DeploymentController>(zones));
  controllers.push_back(std::make_unique<ReplicaSetController>());
  controllers.push_back(std::make_unique<ReplicaSetController>(kReplicationController));
  controllers.push_back(std::make_unique<StatefulSetController>());
  controllers.push_back(std::make_unique<DaemonSetController>(zones));
  controllers.push_back(std::make_unique<JobController>());
  controllers.push_back(std::make_unique<TtlAfterFinishedController>());
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
  if (!is_gone && change.after->kind == ControlledPod::kKind) return;
  if (is_gone && change.before->kind == ControlledPod::kKind) {
    may_have_garbage_ = has_deleted_owner();  // which may wait for this pod
    return;
  }
  may_have_garbage_ = is_gone || change.after->metadata.deletion ||
                      (change.before != nullptr &&
                       change.before->metadata.owner_references.get() != change.after->metadata.owner_references.get());
}

bool WorkloadControllers::has_deleted_owner() const {
  for (const KindName& kind : kinds()) {
    if (!is_workload(kind.kind)) continue;
    const Workloads::Shelf& shelf = context_.objects.workloads().of(kind.kind);
    if (std::any_of(shelf.begin(), shelf.end(),
                    [](const auto& each) { return each.second.object->metadata.deletion.has_value(); })) {
      return true;
    }
  }
  return false;
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
  for (deliver();; deliver()) {
    while (manager_.sync_next()) {
      deliver();
      if (context_.clock.now_us() >= end_us) return true;
    }
    if (!may_have_garbage_) break;
    may_have_garbage_ = collect_garbage(cluster_);
  }
  set_timer();
  return false;
}

void WorkloadControllers::set_timer() {
  context_.timers.cancel(timer_);
  timer_ = 0;
  const std::optional<Millis> next = manager_.next_wake();
  if (!next) return;
  const Millis wait = std::max<Millis>(*next - context_.clock.wall(), 1);
  timer_ = context_.timers.at(context_.clock.now() + wait, [this] { timer_ = 0; });
}

}  // namespace berth
