#include "core/controllers/deployment/deployment_work.h"

#include <algorithm>
#include <utility>

#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/status_write.h"
#include "core/json/merge_patch.h"

namespace berth {

std::int32_t within_limit(const DeploymentWork& work, std::int32_t present, std::int32_t replicas) {
  return work.new_set_limit ? std::min(replicas, std::max(*work.new_set_limit, present)) : replicas;
}

bool is_written(DeploymentWork& work, const WriteResult& written) {
  if (!written.is_done()) work.result.status = Status::error(written.message);
  return written.is_done();
}

bool write_deployment_status(DeploymentWork& work) {
  Status written = write_status(work.cluster, work.deployment, work.written_status, work.deployment.status);
  work.written_status = work.deployment.status;
  if (!written.is_success()) work.result.status = std::move(written);
  return work.result.status.is_success();
}

bool resize_set(DeploymentWork& work, const ReplicaSet& set, std::int32_t replicas) {
  Labels annotations = set.metadata.annotations.get();
  set_size_annotations(work.deployment, annotations);
  const std::int32_t before = set.spec.replicas;
  if (before == replicas && annotations == set.metadata.annotations.get()) return true;
  Json metadata = merge_patch_between(to_json(set.metadata.annotations.get()), to_json(annotations));
  Json patch = Json::object();
  patch.set("metadata", Json::object().set("annotations", std::move(metadata)));
  patch.set("spec", Json::object().set("replicas", replicas));
  if (!is_written(work, work.cluster.patch(set, patch))) return false;
  if (before == replicas) return true;
  const std::string direction = before < replicas ? "up" : "down";
  work.cluster.record(work.deployment, {WorkloadEvent::Type::normal, "ScalingReplicaSet",
                                        "Scaled " + direction + " replica set " + set.metadata.name + " from " +
                                            std::to_string(before) + " to " + std::to_string(replicas)});
  return true;
}

}  // namespace berth
