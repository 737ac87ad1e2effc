// The controller of DaemonSets.
#pragma once

#include <string_view>

#include "core/api/daemon_set.h"
#include "core/controllers/controller.h"
#include "core/controllers/daemon_set/failed_pod_backoff.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

class DaemonSetController final : public Controller {
 public:
  // `zones` must outlive it.
  explicit DaemonSetController(const TimeZoneFiles& zones) : zones_(zones) {}
  std::string_view name() const override { return "daemonset"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  const TimeZoneFiles& zones_;
  FailedPodBackoff backoff_;
};

}  // namespace berth
