#include "core/controllers/nodes/node_lifecycle_controller.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "core/controllers/nodes/node_taints.h"
#include "core/controllers/nodes/pods_not_ready.h"

namespace berth {
namespace {

struct LabelPair {
  const char* stable;
  const char* beta;
};
constexpr std::array kLabelPairs{LabelPair{"kubernetes.io/os", "beta.kubernetes.io/os"},
                                 LabelPair{"kubernetes.io/arch", "beta.kubernetes.io/arch"}};

// reconcileNodeLabels
Status keep_labels_equal(const ControlledNode& node, ClusterAccess& cluster) {
  const Labels& labels = node.metadata.labels.get();
  Json missing = Json::object();
  for (const LabelPair& pair : kLabelPairs) {
    const auto stable = labels.find(pair.stable);
    if (stable == labels.end()) continue;
    const auto beta = labels.find(pair.beta);
    if (beta == labels.end() || beta->second != stable->second) missing.set(pair.beta, stable->second);
  }
  if (missing.as_object().empty()) return Status::ok();
  Json metadata = Json::object().set("labels", std::move(missing));
  const WriteResult written = cluster.patch(node, Json::object().set("metadata", std::move(metadata)));
  return written.is_done() ? Status::ok() : Status::error(written.message);
}

Status sync_node(const ObjectKey& key, ClusterAccess& cluster) {
  const auto node = find_as<ControlledNode>(cluster, ControlledNode::kKind, key);
  if (node == nullptr) return Status::ok();
  const Status tainted = change_taints(cluster, *node, taints_by_conditions(*node));
  const Status labelled = keep_labels_equal(*node, cluster);
  return tainted.is_success() ? labelled : tainted;
}

// processPod
Status sync_arrival(const ObjectKey& key, const NodeLifecycle& nodes, ClusterAccess& cluster) {
  const auto pod = find_as<ControlledPod>(cluster, ControlledPod::kKind, key);
  if (pod == nullptr) return Status::ok();
  const std::string name(pod->node_name);
  const auto health = nodes.health.find(name);
  if (health == nodes.health.end()) return Status::ok();
  if (cluster.find(ControlledNode::kKind, {"", name}) == nullptr) return Status::error("node " + name + " not found");
  const std::optional<Condition>& ready = health->second.ready;
  return !ready || ready->status == "True" ? Status::ok() : mark_not_ready(*pod, cluster);
}

}  // namespace

void NodeLifecycleController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  static_cast<void>(cluster);
  if (change.after == nullptr) return;
  if (change.after->kind == ControlledNode::kKind) queue.add(key_of(*change.after));
  if (change.after->kind != ControlledPod::kKind) return;
  const auto& pod = static_cast<const ControlledPod&>(*change.after);
  if (pod.node_name.empty()) return;
  const auto* before = static_cast<const ControlledPod*>(change.before.get());
  if (before == nullptr || before->node_name != pod.node_name) queue.add(key_of(pod));
}

SyncResult NodeLifecycleController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  return {.status = key.name_space.empty() ? sync_node(key, cluster) : sync_arrival(key, nodes_, cluster)};
}

}  // namespace berth
