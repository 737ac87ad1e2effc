#include "core/controllers/nodes/pods_not_ready.h"

#include <utility>

#include "core/controllers/pod_condition.h"

namespace berth {

Status mark_not_ready(const ControlledPod& pod, ClusterAccess& cluster) {
  const Condition* ready = find_condition(pod.conditions.get(), "Ready");
  if (ready == nullptr) return Status::ok();
  Condition condition = *ready;
  condition.status = "False";
  condition.last_transition = cluster.now();
  Conditions conditions = pod.conditions.get();
  if (!update_pod_condition(conditions, std::move(condition))) return Status::ok();
  const Json status = Json::object().set("conditions", to_json(conditions));
  const WriteResult written = cluster.patch_status(pod, Json::object().set("status", status));
  if (written.code == WriteResult::Code::not_found) return Status::ok();
  cluster.record(pod, {WorkloadEvent::Type::warning, "NodeNotReady", "Node is not ready"});
  return written.is_done() ? Status::ok() : Status::error(written.message);
}

}  // namespace berth
