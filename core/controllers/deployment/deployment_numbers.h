// The numbers of a Deployment: how many pods it may have more or fewer than wanted, and how they are shared among its
// ReplicaSets (pkg/controller/deployment/util/deployment_util.go).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/api/deployment.h"
#include "core/api/replica_set.h"

namespace berth {

using ReplicaSetPtr = std::shared_ptr<const ReplicaSet>;

// The new ReplicaSet of a Deployment, whose template is the Deployment's, and all others.
struct ReplicaSets {
  ReplicaSetPtr newest;            // null: there is none yet
  std::vector<ReplicaSetPtr> old;  // by creation, then name
  // The old ones, then the new one.
  std::vector<ReplicaSetPtr> all() const;
};

// How many pods above spec.replicas a rollout may have, and how many below may be available; 0 with Recreate.
std::int32_t max_surge(const Deployment& deployment);
std::int32_t max_unavailable(const Deployment& deployment);

// Sums over ReplicaSets.
std::int32_t wanted_replicas(const std::vector<ReplicaSetPtr>& sets);     // spec.replicas
std::int32_t actual_replicas(const std::vector<ReplicaSetPtr>& sets);     // status.replicas
std::int32_t available_replicas(const std::vector<ReplicaSetPtr>& sets);  // status.availableReplicas

// Those with spec.replicas > 0.
std::vector<ReplicaSetPtr> active_sets(const std::vector<ReplicaSetPtr>& sets);
// By creation, then name.
bool is_older(const ReplicaSet& a, const ReplicaSet& b);

// What the new one may have now, given what all have (NewRSNewReplicas). `newest` is among `all`, or has no replicas.
std::int32_t new_set_replicas(const Deployment& deployment, const std::vector<ReplicaSetPtr>& all,
                              std::int32_t newest_replicas);

// A ReplicaSet and the size that it should get.
struct Resize {
  ReplicaSetPtr set;
  std::int32_t replicas = 0;
};
// Shares a change of spec.replicas in the middle of a rollout among the active ReplicaSets, in proportion to their
// sizes; the largest comes first and gets what rounding leaves over.
std::vector<Resize> proportional_sizes(const Deployment& deployment, std::vector<ReplicaSetPtr> active);

}  // namespace berth
