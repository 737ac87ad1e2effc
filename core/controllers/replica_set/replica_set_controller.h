// The controller of ReplicaSets, or of ReplicationControllers.
#pragma once

#include <string_view>

#include "core/api/replica_set.h"
#include "core/controllers/controller.h"

namespace berth {

class ReplicaSetController final : public Controller {
 public:
  // `kind`: ReplicaSet::kKind or kReplicationController.
  explicit ReplicaSetController(std::string_view kind = ReplicaSet::kKind) : kind_(kind) {}
  std::string_view name() const override {
    return kind_ == kReplicationController ? "replicationcontroller" : "replicaset";
  }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  std::string_view kind_;
};

}  // namespace berth
