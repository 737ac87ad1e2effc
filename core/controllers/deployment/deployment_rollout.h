// The steps of a rollout (pkg/controller/deployment/rolling.go, recreate.go).
#pragma once

#include "core/controllers/deployment/deployment_work.h"

namespace berth {

// RollingUpdate: the new ReplicaSet grows as far as maxSurge allows; when it cannot, the old ones shrink as far as
// maxUnavailable allows, pods that are not available first. One step; the status follows.
bool roll_one_step(DeploymentWork& work);
// Recreate: the old ReplicaSets go to 0; when no pod of theirs is left, the new one gets its full size.
bool recreate_one_step(DeploymentWork& work);

}  // namespace berth
