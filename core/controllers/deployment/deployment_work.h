// What the stages of one synchronisation of a Deployment share, and their writes. A stage returns whether the next one
// follows: false after a failed write, which is in the result, and where the rule says to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/api/deployment.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controller.h"
#include "core/controllers/deployment/deployment_numbers.h"

namespace berth {

struct DeploymentWork {
  ClusterAccess& cluster;
  Deployment deployment;            // with the status as stages change it
  DeploymentStatus written_status;  // as it was written last
  ReplicaSets sets;
  SyncResult result = {};
  // By a rollout plan (deployment_waves.h): how many pods the new ReplicaSet may have; none: as many as the rest
  // allows.
  std::optional<std::int32_t> new_set_limit = {};
  std::optional<Millis> next_look = {};  // when time alone may change that
};

// `replicas`, or as many as the limit of the new ReplicaSet allows if that has no more than `present`.
std::int32_t within_limit(const DeploymentWork& work, std::int32_t present, std::int32_t replicas);
// Notes a failure. Whether it was done.
bool is_written(DeploymentWork& work, const WriteResult& written);
// Writes the status of work.deployment, if it differs from what was written last.
bool write_deployment_status(DeploymentWork& work);
// Gives the ReplicaSet this size and the annotations of the Deployment's size, with an event if the size changes.
bool resize_set(DeploymentWork& work, const ReplicaSet& set, std::int32_t replicas);

}  // namespace berth
