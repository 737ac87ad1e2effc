// The controller of Deployments.
#pragma once

#include <string_view>

#include "core/api/deployment.h"
#include "core/controllers/controller.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

class DeploymentController final : public Controller {
 public:
  // `zones` must outlive it.
  explicit DeploymentController(const TimeZoneFiles& zones) : zones_(zones) {}
  std::string_view name() const override { return "deployment"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  const TimeZoneFiles& zones_;
};

}  // namespace berth
