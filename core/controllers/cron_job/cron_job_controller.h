// The controller of CronJobs: starts Jobs at their times, follows them until they finish, and deletes the oldest
// finished ones (pkg/controller/cronjob/cronjob_controllerv2.go).
#pragma once

#include <string_view>

#include "core/controllers/controller.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

class CronJobController final : public Controller {
 public:
  // `zones` must outlive it.
  explicit CronJobController(const TimeZoneFiles& zones) : zones_(zones) {}
  std::string_view name() const override { return "cronjob"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  const TimeZoneFiles& zones_;
};

}  // namespace berth
