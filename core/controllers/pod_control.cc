#include "core/controllers/pod_control.h"

#include <utility>

#include "core/controllers/ownership.h"
#include "core/json/members.h"

namespace berth {

Json pod_from_template(const PodTemplate& pod_template, const ControlledObject& owner, std::string_view api_version) {
  const Json& made_from = member(pod_template.json.get(), "metadata");
  Json metadata = Json::object();
  metadata.set("generateName", owner.metadata.name + "-");
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    if (const Json* value = made_from.find(key)) metadata.set(key, *value);
  }
  metadata.set("ownerReferences", to_json(std::vector{controller_reference(owner, api_version)}));
  Json pod = Json::object();
  pod.set("metadata", std::move(metadata));
  pod.set("spec", member(pod_template.json.get(), "spec"));
  return pod;
}

Status create_pod(ClusterAccess& cluster, const ControlledObject& owner, Json pod) {
  const WriteResult result = cluster.create(ControlledPod::kKind, owner.metadata.namespace_, std::move(pod));
  if (result.is_done()) {
    cluster.record(owner, {WorkloadEvent::Type::normal, "SuccessfulCreate", "Created pod: " + result.name});
    return Status::ok();
  }
  cluster.record(owner, {WorkloadEvent::Type::warning, "FailedCreate", "Error creating: " + result.message});
  return Status::error(result.message);
}

Status delete_pod(ClusterAccess& cluster, const ControlledObject& owner, const ControlledPod& pod) {
  const WriteResult result = cluster.remove(pod, {});
  if (result.is_done()) {
    cluster.record(owner, {WorkloadEvent::Type::normal, "SuccessfulDelete", "Deleted pod: " + pod.metadata.name});
    return Status::ok();
  }
  if (result.code != WriteResult::Code::not_found) {
    cluster.record(owner, {WorkloadEvent::Type::warning, "FailedDelete", "Error deleting: " + result.message});
  }
  return Status::error(result.message);
}

}  // namespace berth
