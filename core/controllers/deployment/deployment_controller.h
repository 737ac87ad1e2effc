// The controller of Deployments.
#pragma once

#include <string_view>

#include "core/api/deployment.h"
#include "core/controllers/controller.h"

namespace berth {

class DeploymentController final : public Controller {
 public:
  std::string_view name() const override { return "deployment"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;
};

}  // namespace berth
