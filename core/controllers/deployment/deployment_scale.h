// Resizing a Deployment's ReplicaSets without a rollout: after a change of spec.replicas, and while it is paused
// (pkg/controller/deployment/sync.go).
#pragma once

#include "core/controllers/deployment/deployment_work.h"

namespace berth {

// Whether some ReplicaSet was sized for another spec.replicas (isScalingEvent).
bool is_scaling_event(const DeploymentWork& work);
// The only active ReplicaSet takes it all; otherwise a rollout is under way, and all share in proportion.
bool scale_sets(DeploymentWork& work);
// Deletes old ReplicaSets beyond revisionHistoryLimit, lowest revision first (cleanupDeployment).
bool delete_surplus_sets(DeploymentWork& work);

}  // namespace berth
