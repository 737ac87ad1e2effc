#include "core/controllers/pod_gc.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/controllers/disruption/disruption_rules.h"
#include "core/controllers/pod_condition.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

constexpr Millis kQuarantine = 40'000;

using Pods = std::vector<ControlledPodPtr>;
using Nodes = std::map<std::string, ControlledNodePtr>;

bool is_evicted(const ControlledPod& pod) { return pod.phase == PodPhase::failed && pod.reason == "Evicted"; }

bool goes_first(const ControlledPodPtr& a, const ControlledPodPtr& b) {
  if (is_evicted(*a) != is_evicted(*b)) return is_evicted(*a);
  return a->metadata.created.value_or(0) < b->metadata.created.value_or(0);
}

void fail_and_delete(ClusterAccess& cluster, const ControlledPod& pod, const Condition* condition) {
  if (!is_finished(pod)) {
    Json status = Json::object();
    status.set("phase", "Failed").set("observedGeneration", pod.metadata.generation);
    if (condition != nullptr) {
      Conditions conditions = pod.conditions.get();
      update_pod_condition(conditions, *condition);
      status.set("conditions", to_json(conditions));
    }
    if (!cluster.patch_status(pod, Json::object().set("status", std::move(status))).is_done()) return;
  }
  DeleteOptions options;
  options.grace_seconds = 0;
  cluster.remove(pod, options);
}

// The oldest `count` of the pods, evicted ones first.
void delete_first(ClusterAccess& cluster, Pods pods, std::size_t count) {
  stable_sort(pods, goes_first);
  for (std::size_t i = 0; i < count; ++i) fail_and_delete(cluster, *pods[i], nullptr);
}

template <class Which>
Pods select(const Pods& pods, const Which& which) {
  Pods selected;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(selected),
               [&](const ControlledPodPtr& pod) { return which(*pod); });
  return selected;
}

bool is_out_of_service(const Nodes& nodes, const std::string& name) {
  const auto node = nodes.find(name);
  if (node == nodes.end() || node->second->ready) return false;
  const std::vector<NodeTaint>& taints = node->second->taints;
  return std::any_of(taints.begin(), taints.end(),
                     [](const Taint& taint) { return taint.key == "node.kubernetes.io/out-of-service"; });
}

}  // namespace

void PodGc::run(ClusterAccess& cluster) {
  const Pods pods = list_as<ControlledPod>(cluster, ControlledPod::kKind, "");
  Nodes nodes;
  for (ControlledNodePtr& node : list_as<ControlledNode>(cluster, ControlledNode::kKind, "")) {
    std::string name = node->metadata.name;
    nodes.emplace(std::move(name), std::move(node));
  }
  if (terminated_threshold_ > 0) {
    const Pods finished = select(pods, is_finished);
    const auto surplus = static_cast<std::int64_t>(finished.size()) - terminated_threshold_;
    if (surplus > 0) delete_first(cluster, finished, static_cast<std::size_t>(surplus));
  }
  const Pods stuck = select(pods, [&nodes](const ControlledPod& pod) {
    return pod.metadata.deletion && is_out_of_service(nodes, std::string(pod.node_name));
  });
  delete_first(cluster, stuck, stuck.size());
  remove_orphaned(cluster, pods, nodes);
  const Pods unscheduled =
      select(pods, [](const ControlledPod& pod) { return pod.metadata.deletion && pod.node_name.empty(); });
  delete_first(cluster, unscheduled, unscheduled.size());
}

void PodGc::remove_orphaned(ClusterAccess& cluster, const Pods& pods, const Nodes& nodes) {
  const Millis now = cluster.now();
  std::set<std::string> gone;
  std::erase_if(quarantine_, [&](const auto& each) {
    if (each.second > now) return false;
    if (!nodes.contains(each.first)) gone.insert(each.first);
    return true;
  });
  for (const ControlledPodPtr& pod : pods) {
    const std::string node(pod->node_name);
    if (!node.empty() && !nodes.contains(node)) quarantine_.emplace(node, now + kQuarantine);
    if (!gone.contains(node)) continue;
    Condition condition;
    condition.type = kDisruptionTarget;
    condition.status = "True";
    condition.reason = "DeletionByPodGC";
    condition.message = "PodGC: node no longer exists";
    condition.observed_generation = pod->metadata.generation;
    condition.last_transition = now;
    fail_and_delete(cluster, *pod, &condition);
  }
}

}  // namespace berth
