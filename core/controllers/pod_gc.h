// PodGC: pods that nobody else will ever remove (pkg/controller/podgc/gc_controller.go).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_node.h"

namespace berth {

class PodGc {
 public:
  static constexpr Millis kPeriod = 20'000;  // between two runs

  // `terminated_threshold`: finished pods that may stay; 0: all.
  explicit PodGc(std::int64_t terminated_threshold) : terminated_threshold_(terminated_threshold) {}

  // Deletes at once, without a grace period:
  // - finished pods beyond the threshold, evicted ones first, then the oldest;
  // - pods that are being deleted on a node that is not ready and has the taint node.kubernetes.io/out-of-service;
  // - pods of a node that has not existed for 40 s, with the condition DisruptionTarget;
  // - pods that are being deleted and have no node.
  // One that has not finished becomes Failed first.
  void run(ClusterAccess& cluster);

 private:
  void remove_orphaned(ClusterAccess& cluster, const std::vector<ControlledPodPtr>& pods,
                       const std::map<std::string, ControlledNodePtr>& nodes);

  std::int64_t terminated_threshold_;
  std::map<std::string, Millis> quarantine_;  // nodes that do not exist, and until when they may come back
};

}  // namespace berth
