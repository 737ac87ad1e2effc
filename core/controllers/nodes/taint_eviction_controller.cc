#include "core/controllers/nodes/taint_eviction_controller.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/controllers/controlled_node.h"
#include "core/controllers/disruption/disruption_rules.h"
#include "core/controllers/nodes/taint_eviction_rules.h"
#include "core/controllers/pod_condition.h"

namespace berth {
namespace {

// The pod of the event may be gone.
void record_eviction(const ObjectKey& key, ClusterAccess& cluster, const std::string& what) {
  ControlledPod about;
  about.metadata.namespace_ = key.name_space;
  about.metadata.name = key.name;
  cluster.record(about, {WorkloadEvent::Type::normal, "TaintManagerEviction", what + key.name_space + "/" + key.name});
}

Status delete_tainted(const ObjectKey& key, ClusterAccess& cluster) {
  record_eviction(key, cluster, "Marking for deletion Pod ");
  const auto pod = find_as<ControlledPod>(cluster, ControlledPod::kKind, key);
  if (pod == nullptr) return Status::ok();
  Condition target;
  target.type = kDisruptionTarget;
  target.status = "True";
  target.reason = "DeletionByTaintManager";
  target.message = "Taint manager: deleting due to NoExecute taint";
  target.observed_generation = pod->metadata.generation;
  target.last_transition = cluster.now();
  Conditions conditions = pod->conditions.get();
  if (update_pod_condition(conditions, std::move(target))) {
    const Json status = Json::object().set("conditions", to_json(conditions));
    const WriteResult marked = cluster.patch_status(*pod, Json::object().set("status", status));
    if (!marked.is_done()) return Status::error(marked.message);
  }
  const WriteResult removed = cluster.remove(*pod, {});
  return removed.is_done() ? Status::ok() : Status::error(removed.message);
}

// Whether the taints that count are those of before.
bool has_same_taints(const ObjectChange& change) {
  return change.before != nullptr && no_execute_taints(static_cast<const ControlledNode&>(*change.before)) ==
                                         no_execute_taints(static_cast<const ControlledNode&>(*change.after));
}

bool has_same_place(const ObjectChange& change) {
  if (change.before == nullptr || change.after == nullptr) return false;
  const auto& before = static_cast<const ControlledPod&>(*change.before);
  const auto& after = static_cast<const ControlledPod&>(*change.after);
  return before.node_name == after.node_name && before.tolerations.get() == after.tolerations.get();
}

}  // namespace

void TaintEvictionController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after == nullptr ? *change.before : *change.after;
  if (object.kind == ControlledPod::kKind && !has_same_place(change)) look_again(key_of(object), queue);
  // Pods of a node that is gone go on waiting.
  if (object.kind != ControlledNode::kKind || change.after == nullptr || has_same_taints(change)) return;
  for (const auto& pod : list_as<ControlledPod>(cluster, ControlledPod::kKind, "")) {
    if (pod->node_name == object.metadata.name) look_again(key_of(*pod), queue);
  }
}

void TaintEvictionController::look_again(const ObjectKey& key, WorkQueue& queue) {
  changed_.insert(key);
  queue.add(key);
}

SyncResult TaintEvictionController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  SyncResult result;
  result.status = evict_if_due(key, cluster);
  if (changed_.erase(key) > 0) {
    reconsider(key, cluster);
    result.status = evict_if_due(key, cluster);
  }
  const auto wait = waits_.find(key);
  if (wait != waits_.end() && result.status.is_success()) result.wake_at = wait->second.until;
  return result;
}

// processPodOnNode
void TaintEvictionController::reconsider(const ObjectKey& key, ClusterAccess& cluster) {
  const auto pod = find_as<ControlledPod>(cluster, ControlledPod::kKind, key);
  if (pod == nullptr) return cancel(key, cluster);
  const auto node = find_as<ControlledNode>(cluster, ControlledNode::kKind, {"", std::string(pod->node_name)});
  if (node == nullptr) return;
  const std::vector<NodeTaint> taints = no_execute_taints(*node);
  if (taints.empty()) return cancel(key, cluster);
  const Millis now = cluster.now();
  const TaintTolerance tolerance = tolerance_of(taints, pod->tolerations.get());
  if (!tolerance.tolerates_all) {
    cancel(key, cluster);
    waits_[key] = {now, now};
  } else if (!tolerance.limit) {
    cancel(key, cluster);
  } else {
    const auto wait = waits_.find(key);
    if (wait != waits_.end() && wait->second.since < now) return;
    cancel(key, cluster);
    waits_[key] = {now, now + *tolerance.limit};
  }
}

void TaintEvictionController::cancel(const ObjectKey& key, ClusterAccess& cluster) {
  if (waits_.erase(key) > 0) record_eviction(key, cluster, "Cancelling deletion of Pod ");
}

// A pod that could not be deleted stays due, and the queue tries it again.
Status TaintEvictionController::evict_if_due(const ObjectKey& key, ClusterAccess& cluster) {
  const auto wait = waits_.find(key);
  if (wait == waits_.end() || wait->second.until > cluster.now()) return Status::ok();
  Status status = delete_tainted(key, cluster);
  if (status.is_success()) waits_.erase(wait);
  return status;
}
}  // namespace berth
