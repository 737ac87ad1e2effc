// What the API server sets in workloads that do not say it (pkg/apis/apps/v1/defaults.go,
// pkg/apis/core/v1/defaults.go): in the typed form only, so that the manifest stays the operator's.
#pragma once

#include "core/api/deployment.h"
#include "core/api/replica_set.h"

namespace berth {

void set_workload_defaults(ReplicaSet& set);
void set_workload_defaults(Deployment& deployment);

}  // namespace berth
