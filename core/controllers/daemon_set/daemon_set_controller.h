// The controller of DaemonSets.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/api/daemon_set.h"
#include "core/controllers/controller.h"
#include "core/controllers/daemon_set/failed_pod_backoff.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

class DaemonSetController final : public Controller {
 public:
  static constexpr std::size_t kBurst = 250;

  // `zones` must outlive it. `burst`: so many pods one synchronisation makes, and deletes, at most (burstReplicas).
  explicit DaemonSetController(const TimeZoneFiles& zones, std::size_t burst = kBurst) : zones_(zones), burst_(burst) {}
  std::string_view name() const override { return "daemonset"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  const TimeZoneFiles& zones_;
  FailedPodBackoff backoff_;
  std::size_t burst_;
};

}  // namespace berth
