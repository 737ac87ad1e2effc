// NodeLifecycleController: what follows at once from a change of a node (doNoScheduleTaintingPass,
// reconcileNodeLabels), and from the arrival of a pod on it (processPod).
#pragma once

#include <string_view>

#include "core/controllers/controller.h"
#include "core/controllers/nodes/node_lifecycle.h"

namespace berth {

// Keeps NoSchedule taints of nodes as their conditions are, and the beta labels of os and arch as the stable ones. Pods
// that come to a node that is not ready get the condition Ready=False.
class NodeLifecycleController final : public Controller {
 public:
  // `nodes` must outlive the controller.
  explicit NodeLifecycleController(NodeLifecycle& nodes) : nodes_(nodes) {}
  std::string_view name() const override { return "node-lifecycle"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  // The key of a node, or of a pod, which has a namespace.
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  NodeLifecycle& nodes_;
};

}  // namespace berth
