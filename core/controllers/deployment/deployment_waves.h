// The rollout plan of a Deployment. Its pods may run anywhere, so its waves are shares of spec.replicas: the new
// ReplicaSet grows no further than the present wave.
#pragma once

#include "core/controllers/deployment/deployment_work.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

// Decides, and writes the status and events of it: how far the new ReplicaSet may grow, and which one counts as the new
// one, after a rollback the one before. Nothing without a plan. False: a write has failed.
bool follow_waves(DeploymentWork& work, const TimeZoneFiles& zones);

}  // namespace berth
