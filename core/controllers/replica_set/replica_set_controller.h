// The controller of ReplicaSets, or of ReplicationControllers.
#pragma once

#include <string_view>

#include "core/api/replica_set.h"
#include "core/controllers/controller.h"
#include "core/controllers/pod_control.h"

namespace berth {

class ReplicaSetController final : public Controller {
 public:
  // `kind`: ReplicaSet::kKind or kReplicationController. `burst`: so many pods one synchronisation makes or deletes at
  // most (burstReplicas).
  explicit ReplicaSetController(std::string_view kind = ReplicaSet::kKind, int burst = kBurstReplicas)
      : kind_(kind), burst_(burst) {}
  std::string_view name() const override {
    return kind_ == kReplicationController ? "replicationcontroller" : "replicaset";
  }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  std::string_view kind_;
  int burst_;
};

}  // namespace berth
