#include "core/controllers/daemon_set/daemon_set_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/controllers/pod_control.h"
#include "core/controllers/revisions.h"

namespace berth {
namespace {

void record_ended_pod(ClusterAccess& cluster, const DaemonSet& set, const ControlledPod& pod, const std::string& node) {
  const bool has_failed = pod.phase == PodPhase::failed;
  const std::string which = " daemon pod " + pod.metadata.key() + " on node " + node + ", will try to ";
  if (has_failed) {
    cluster.record(set, {WorkloadEvent::Type::warning, "FailedDaemonPod", "Found failed" + which + "kill it"});
  } else {
    cluster.record(set, {WorkloadEvent::Type::normal, "SucceededDaemonPod", "Found succeeded" + which + "delete it"});
  }
}

// The pods on the node that run or may yet; the others are deleted as soon as they may be.
std::vector<ControlledPodPtr> replace_ended_pods(ClusterAccess& cluster, const DaemonView& view,
                                                 const std::string& node, const std::vector<ControlledPodPtr>& pods,
                                                 FailedPodBackoff& backoff, DaemonWork& work) {
  std::vector<ControlledPodPtr> living;
  for (const ControlledPodPtr& pod : pods) {
    if (pod->metadata.deletion) continue;
    if (!is_finished(*pod)) {
      living.push_back(pod);
      continue;
    }
    if (pod->phase == PodPhase::failed) {
      if (const std::optional<Millis> delay = backoff.running(view.set, node, view.now)) {
        work.wake_at = std::min(work.wake_at.value_or(view.now + *delay), view.now + *delay);
        continue;
      }
      backoff.start(view.set, node, view.now);
    }
    record_ended_pod(cluster, view.set, *pod, node);
    work.gone.push_back(pod);
  }
  return living;
}

// Of several living pods, the oldest new and the oldest old one may stay together: until the new one is available, and
// while the old one is ready.
void prune_surged_pods(const DaemonView& view, const std::vector<ControlledPodPtr>& by_age, DaemonWork& work) {
  ControlledPodPtr newest_revision;
  ControlledPodPtr old_revision;
  for (const ControlledPodPtr& pod : by_age) {
    ControlledPodPtr& oldest = revision_label(*pod) == view.hash ? newest_revision : old_revision;
    if (oldest == nullptr) {
      oldest = pod;
    } else {
      work.gone.push_back(pod);
    }
  }
  if (newest_revision == nullptr || old_revision == nullptr) return;
  if (!old_revision->ready || is_available(view, *newest_revision)) work.gone.push_back(old_revision);
}

void plan_running_node(const DaemonView& view, const DaemonNode& node, std::vector<ControlledPodPtr> living,
                       DaemonWork& work) {
  const bool surges = allows_surge(view.set);
  if (living.size() <= 1) {
    if (surges && living.empty() && node.fit.should_run) work.nodes.push_back(node.node->metadata.name);
    return;
  }
  sort_by_age(living);
  if (surges) {
    prune_surged_pods(view, living, work);
  } else {
    work.gone.insert(work.gone.end(), living.begin() + 1, living.end());
  }
}

void plan_node(ClusterAccess& cluster, const DaemonView& view, const DaemonNode& node, FailedPodBackoff& backoff,
               DaemonWork& work) {
  const std::string& name = node.node->metadata.name;
  const auto found = view.pods.find(name);
  if (found == view.pods.end()) {
    if (node.fit.should_run) work.nodes.push_back(name);
    return;
  }
  if (node.fit.may_continue) {
    plan_running_node(view, node, replace_ended_pods(cluster, view, name, found->second, backoff, work), work);
    return;
  }
  for (const ControlledPodPtr& pod : found->second) {
    if (!pod->metadata.deletion) work.gone.push_back(pod);
  }
}

// Nothing else deletes a pod that waits for a node that is gone.
void plan_pods_without_node(const DaemonView& view, DaemonWork& work) {
  std::set<std::string_view> existing;
  for (const DaemonNode& node : view.nodes) existing.insert(node.node->metadata.name);
  for (const auto& [name, pods] : view.pods) {
    if (existing.contains(name)) continue;
    for (const ControlledPodPtr& pod : pods) {
      if (pod->node_name.empty()) work.gone.push_back(pod);
    }
  }
}

}  // namespace

DaemonWork plan_daemon_pods(ClusterAccess& cluster, const DaemonView& view, FailedPodBackoff& backoff) {
  DaemonWork work;
  for (const DaemonNode& node : view.nodes) plan_node(cluster, view, node, backoff, work);
  plan_pods_without_node(view, work);
  std::erase_if(work.nodes, [&](const std::string& name) { return !has_revision_for(view, name); });
  return work;
}

Status do_daemon_work(ClusterAccess& cluster, const DaemonView& view, const DaemonWork& work, std::size_t burst) {
  auto node = work.nodes.begin();
  const std::size_t missing = std::min(work.nodes.size(), burst);
  Status first =
      slow_start(static_cast<int>(missing), [&] { return create_pod(cluster, view.set, daemon_pod(view, *node++)); });
  for (std::size_t i = 0; i < std::min(work.gone.size(), burst); ++i) {
    Status deleted = delete_pod(cluster, view.set, *work.gone[i]);
    if (first.is_success()) first = std::move(deleted);
  }
  return first;
}

std::vector<ControlledPodPtr> oldest_pods(const DaemonView& view) {
  std::vector<ControlledPodPtr> oldest;
  for (const DaemonNode& node : view.nodes) {
    const auto found = view.pods.find(node.node->metadata.name);
    if (!node.fit.should_run || found == view.pods.end()) continue;
    std::vector<ControlledPodPtr> by_age = found->second;
    sort_by_age(by_age);
    oldest.push_back(by_age.front());
  }
  return oldest;
}

DaemonSetStatus daemon_set_status(const DaemonView& view) {
  DaemonSetStatus status;
  status.collision_count = view.set.status.collision_count;
  status.observed_generation = view.set.metadata.generation;
  if (view.rollout) status.rollout = view.rollout->decision.status;
  for (const DaemonNode& node : view.nodes) {
    if (node.fit.should_run) {
      ++status.desired_scheduled;
    } else if (view.pods.contains(node.node->metadata.name)) {
      ++status.misscheduled;
    }
  }
  for (const ControlledPodPtr& pod : oldest_pods(view)) {
    ++status.current_scheduled;
    if (pod->ready) ++status.ready;
    if (is_available(view, *pod)) ++status.available;
    if (is_updated(view, *pod)) ++status.updated_scheduled;
  }
  status.unavailable = status.desired_scheduled - status.available;
  return status;
}

}  // namespace berth
