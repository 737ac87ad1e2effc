// What a ReplicaSet or ReplicationController does with its pods (pkg/controller/replicaset/replica_set.go).
#pragma once

#include <vector>

#include "core/api/replica_set.h"
#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_pod.h"
#include "core/status.h"

namespace berth {

// The pods of one ReplicaSet, ordered by name.
struct ReplicaSetPods {
  std::vector<ControlledPodPtr> active;
  std::int32_t terminating = 0;  // being deleted, not finished
  // All pods that ReplicaSets with the same controller select; empty without a controller. Only read when pods go.
  std::vector<ControlledPodPtr> related;
};

// Creates what is missing, or deletes what is too much, `burst` pods at most (manageReplicas). The first failure.
Status manage_replicas(ClusterAccess& cluster, const ReplicaSet& set, const ReplicaSetPods& pods, int burst);

// The status by the pods before that, and `managed`, what became of it (calculateStatus).
ReplicaSetStatus replica_set_status(const ReplicaSet& set, const ReplicaSetPods& pods, const Status& managed,
                                    Millis now);

}  // namespace berth
