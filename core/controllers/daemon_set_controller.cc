// The synchronisation of a DaemonSet (pkg/controller/daemon/daemon_controller.go).
#include "core/controllers/daemon_set_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/controllers/daemon_set_history.h"
#include "core/controllers/daemon_set_rules.h"
#include "core/controllers/ownership.h"
#include "core/controllers/stateful_set_revisions.h"
#include "core/controllers/status_write.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

bool selects_daemon_pod(const ControlledObject& owner, const ControlledObject& pod) {
  const LabelSelector& selector = static_cast<const DaemonSet&>(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, pod.metadata.labels.get());
}

bool has_pod_on(const ClusterAccess& cluster, const DaemonSet& set, const std::string& node) {
  const std::vector<ControlledPodPtr> pods = cluster.pods_of(set.metadata.namespace_, set.metadata.uid);
  return std::any_of(pods.begin(), pods.end(), [&](const ControlledPodPtr& pod) { return target_node(*pod) == node; });
}

// A node that is gone wakes nobody: its pods go one by one.
void wake_by_node(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  if (change.after == nullptr) return;
  const auto& node = static_cast<const ControlledNode&>(*change.after);
  if (change.before != nullptr) {
    const auto& before = static_cast<const ControlledNode&>(*change.before);
    if (before.metadata.labels == node.metadata.labels && before.taints == node.taints) return;
  }
  for (const auto& set : list_as<DaemonSet>(cluster, DaemonSet::kKind, "")) {
    const DaemonFit fit = DaemonNodeFilter(*set).fit(node);
    if (fit.should_run != fit.may_continue) continue;  // a pod there may stay, and none is made
    if (fit.should_run != has_pod_on(cluster, *set, node.metadata.name)) queue.add(key_of(*set));
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
  DaemonView view{.set = set, .hash = "", .nodes = {}, .pods = group_by_node(pods), .now = cluster.now()};
  const Labels& labels = current.metadata.labels.get();
  const auto hash = labels.find(std::string(kPodRevisionLabel));
  if (hash != labels.end()) view.hash = hash->second;
  const DaemonNodeFilter filter(set);
  for (const ControlledNodePtr& node : list_as<ControlledNode>(cluster, ControlledNode::kKind, "")) {
    view.nodes.push_back({node, filter.fit(*node)});
  }
  return view;
}

// What has been planned is done, and an update goes on only when there was nothing: its effects must be seen first.
SyncResult manage_pods(ClusterAccess& cluster, const DaemonView& view, FailedPodBackoff& backoff) {
  const DaemonWork work = plan_daemon_pods(cluster, view, backoff);
  SyncResult result{.status = do_daemon_work(cluster, view, work), .wake_at = work.wake_at};
  if (!work.is_empty() || view.set.spec.on_delete) return result;
  const Result<DaemonWork> update = plan_daemon_update(view);
  result.status = update ? do_daemon_work(cluster, view, *update) : update.error();
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
  const Result<DaemonSetHistory> history = daemon_set_history(cluster, *set, *pods);
  if (!history) return {.status = history.error()};
  const DaemonView view = view_of(cluster, *set, *pods, *history->current);
  SyncResult result = manage_pods(cluster, view, backoff_);
  if (result.status.is_success()) result.status = clean_up_history(cluster, *set, *pods, history->old);
  const Status written = write_status(cluster, *set, set->status, daemon_set_status(view));
  if (result.status.is_success()) result.status = written;
  const std::int32_t min_ready_seconds = set->spec.min_ready_seconds;
  if (const auto next = next_availability(*pods, min_ready_seconds, view.now)) {
    result.wake_at = std::min(result.wake_at.value_or(*next), *next);
  }
  return result;
}

}  // namespace berth
