// The synchronisation of a DaemonSet (pkg/controller/daemon/daemon_controller.go).
#include "core/controllers/daemon_set/daemon_set_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/controllers/daemon_set/daemon_set_history.h"
#include "core/controllers/daemon_set/daemon_set_rollout.h"
#include "core/controllers/daemon_set/daemon_set_rules.h"
#include "core/controllers/ownership.h"
#include "core/controllers/revisions.h"
#include "core/controllers/rollout/rollout_message.h"
#include "core/controllers/status_write.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

bool selects_daemon_pod(const ControlledObject& owner, const ControlledObject& pod) {
  const LabelSelector& selector = static_cast<const DaemonSet&>(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, pod.metadata.labels.get());
}

std::int64_t bound_pods(const ClusterAccess& cluster, const DaemonSet& set, const std::string& node) {
  const std::vector<ControlledPodPtr> pods = cluster.pods_of(set.metadata.namespace_, set.metadata.uid);
  return std::count_if(pods.begin(), pods.end(), [&](const ControlledPodPtr& pod) { return pod->node_name == node; });
}

// A node wakes the sets whose bound pods there are not those that should be; their status alone may wait. One that is
// gone wakes nobody: its pods go one by one (syncNodeUpdate).
void wake_by_node(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  if (change.after == nullptr) return;
  const auto& node = static_cast<const ControlledNode&>(*change.after);
  if (change.before != nullptr) {
    const auto& before = static_cast<const ControlledNode&>(*change.before);
    if (before.metadata.labels == node.metadata.labels && before.taints == node.taints) return;
  }
  for (const auto& set : list_as<DaemonSet>(cluster, DaemonSet::kKind, "")) {
    const DaemonFit fit = DaemonNodeFilter(*set).fit(node);
    const std::int64_t bound = bound_pods(cluster, *set, node.metadata.name);
    const bool differs = (fit.should_run && bound == 0) || (!fit.may_continue && bound > 0) || bound > 1;
    if (differs) queue.add(key_of(*set));
  }
}

// To a rollout plan it also matters whether nodes answer, and that one is gone.
void wake_rollouts(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  if (change.before != nullptr && change.after != nullptr) {
    const auto& before = static_cast<const ControlledNode&>(*change.before);
    const auto& after = static_cast<const ControlledNode&>(*change.after);
    if (before.silent_since == after.silent_since && before.metadata.labels == after.metadata.labels) return;
  }
  for (const auto& set : list_as<DaemonSet>(cluster, DaemonSet::kKind, "")) {
    if (set->rollout.plan) queue.add(key_of(*set));
  }
}

Result<std::vector<ControlledPodPtr>> claim_daemon_pods(ClusterAccess& cluster, const DaemonSet& set) {
  Claim claim(cluster, set, DaemonSet::kApiVersion, set.spec.selector);
  std::vector<ControlledPodPtr> pods = claim.take_all(cluster.pods_of(set.metadata.namespace_, set.metadata.uid));
  for (const ControlledPodPtr& pod : claim.take_all(cluster.pods_of(set.metadata.namespace_, ""))) pods.push_back(pod);
  if (!claim.status().is_success()) return claim.status();
  std::sort(pods.begin(), pods.end(),
            [](const ControlledPodPtr& a, const ControlledPodPtr& b) { return a->metadata.name < b->metadata.name; });
  return pods;
}

DaemonView view_of(const ClusterAccess& cluster, const DaemonSet& set, const std::vector<ControlledPodPtr>& pods,
                   const ControllerRevision& current) {
  DaemonView view{
      .set = set, .hash = revision_label(current), .nodes = {}, .pods = group_by_node(pods), .now = cluster.now()};
  const DaemonNodeFilter filter(set);
  for (const ControlledNodePtr& node : list_as<ControlledNode>(cluster, ControlledNode::kKind, "")) {
    view.nodes.push_back({node, filter.fit(*node)});
  }
  return view;
}

// When the next pod becomes available; a second later, as for clocks that differ, when only an update waits for it.
std::optional<Millis> next_change(const DaemonView& view, const std::vector<ControlledPodPtr>& pods) {
  constexpr Millis kSlack = 1000;
  const std::int32_t min_ready_seconds = view.set.spec.min_ready_seconds;
  const std::optional<Millis> counted = next_availability(oldest_pods(view), min_ready_seconds, view.now);
  const std::optional<Millis> any = next_availability(pods, min_ready_seconds, view.now);
  if (!any) return counted;
  return std::min(counted.value_or(*any + kSlack), *any + kSlack);
}

// Whether a revision is needed besides the present one: what a rollout may go back to.
bool is_stable(const DaemonView& view, const RevisionPtr& revision) {
  return view.rollout && view.rollout->stable == revision;
}

Status write_daemon_status(ClusterAccess& cluster, const DaemonView& view) {
  const DaemonSet& set = view.set;
  const DaemonSetStatus status = daemon_set_status(view);
  Status written = write_status(cluster, set, set.status, status);
  if (!written.is_success() || !status.rollout) return written;
  for (WorkloadEvent& event : rollout_events(set.status.rollout, *status.rollout)) {
    cluster.record(set, std::move(event));
  }
  return written;
}

// What has been planned is done, and an update goes on only when there was nothing: its effects must be seen first.
SyncResult manage_pods(ClusterAccess& cluster, const DaemonView& view, FailedPodBackoff& backoff, std::size_t burst) {
  const DaemonWork work = plan_daemon_pods(cluster, view, backoff);
  SyncResult result{.status = do_daemon_work(cluster, view, work, burst), .wake_at = work.wake_at};
  if (!work.is_empty() || view.set.spec.on_delete) return result;
  const Result<DaemonWork> update = plan_daemon_update(view);
  result.status = update ? do_daemon_work(cluster, view, *update, burst) : update.error();
  return result;
}

}  // namespace

void DaemonSetController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == DaemonSet::kKind) {
    queue.add(key_of(object));
  } else if (object.kind == ControlledPod::kKind) {
    wake_owners(DaemonSet::kKind, change, cluster, queue, selects_daemon_pod);
  } else if (object.kind == ControlledNode::kKind) {
    wake_by_node(change, cluster, queue);
    wake_rollouts(change, cluster, queue);
  }
}

SyncResult DaemonSetController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto set = find_as<DaemonSet>(cluster, DaemonSet::kKind, key);
  if (set == nullptr) return {};
  if (set->spec.selector.requirements.empty()) {
    cluster.record(*set, {WorkloadEvent::Type::warning, "SelectingAll",
                          "This daemon set is selecting all pods. A non-empty selector is required."});
    return {};
  }
  // Its revisions may be gone already, so that not even the status could be told.
  if (set->metadata.deletion) return {};
  const Result<std::vector<ControlledPodPtr>> pods = claim_daemon_pods(cluster, *set);
  if (!pods) return {.status = pods.error()};
  Result<DaemonSetHistory> history = daemon_set_history(cluster, *set, *pods);
  if (!history) return {.status = history.error()};
  DaemonView view = view_of(cluster, *set, *pods, *history->current);
  if (set->rollout.plan) {
    view.rollout = daemon_rollout(view, *history, zones_);
    view.hash = view.rollout->decision.revision;
    std::erase_if(history->old, [&](const RevisionPtr& each) { return is_stable(view, each); });
  }
  SyncResult result = manage_pods(cluster, view, backoff_, burst_);
  if (result.status.is_success()) result.status = clean_up_history(cluster, *set, *pods, history->old);
  const Status written = write_daemon_status(cluster, view);
  if (result.status.is_success()) result.status = written;
  if (const auto next = next_change(view, *pods)) result.wake_at = std::min(result.wake_at.value_or(*next), *next);
  const std::optional<Millis> look = view.rollout ? view.rollout->decision.wake_at : std::nullopt;
  if (look) result.wake_at = std::min(result.wake_at.value_or(*look), *look);
  return result;
}

}  // namespace berth
