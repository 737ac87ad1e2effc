// Which nodes a DaemonSet's pods are for (pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod).
#pragma once

#include <vector>

#include "core/api/daemon_set.h"
#include "core/controllers/controlled_node.h"

namespace berth {

// The tolerations that every daemon pod gets besides its own (AddOrUpdateDaemonPodTolerations).
std::vector<Toleration> daemon_tolerations(const DaemonSet& set);

struct DaemonFit {
  bool should_run = false;    // a pod should be made there
  bool may_continue = false;  // one that is there may stay: only NoExecute taints count
};
// Answers for one DaemonSet; it must outlive the object.
class DaemonNodeFilter {
 public:
  explicit DaemonNodeFilter(const DaemonSet& set);
  DaemonFit fit(const ControlledNode& node) const;

 private:
  const DaemonPlacement& placement_;
  std::vector<Toleration> tolerations_;
};

}  // namespace berth
