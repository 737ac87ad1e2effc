// The controller of DaemonSets.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/api/daemon_set.h"
#include "core/controllers/controller.h"
#include "core/controllers/daemon_set/failed_pod_backoff.h"

namespace berth {

class DaemonSetController final : public Controller {
 public:
  static constexpr std::size_t kBurst = 250;

  // `burst`: so many pods one synchronisation makes, and deletes, at most (burstReplicas).
  explicit DaemonSetController(std::size_t burst = kBurst) : burst_(burst) {}
  std::string_view name() const override { return "daemonset"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  FailedPodBackoff backoff_;
  std::size_t burst_;
};

}  // namespace berth
