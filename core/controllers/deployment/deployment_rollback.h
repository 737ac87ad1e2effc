// Rolling back by the annotation deprecated.deployment.rollback.to (pkg/controller/deployment/rollback.go).
#pragma once

#include <cstdint>

#include "core/controllers/deployment/deployment_work.h"

namespace berth {

// Copies the template of the ReplicaSet with this revision (0: the last but one) back to the Deployment, and removes
// the annotation, whatever came of it.
void roll_back(DeploymentWork& work, std::int64_t revision);

}  // namespace berth
