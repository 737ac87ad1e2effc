// What the three parts of node lifecycle share: NodeLifecycleController, NodeHealthMonitor and NoExecuteTainter
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go).
#pragma once

#include <map>
#include <string>

#include "core/controllers/nodes/node_health.h"
#include "core/controllers/nodes/node_zones.h"

namespace berth {

struct NodeLifecycle {
  std::map<std::string, std::string> known;  // uids of the nodes that were registered, by name
  // By name of the node. A node that is gone keeps its entry, as upstream: one that comes back under its name without a
  // status has the grace period of the first.
  std::map<std::string, NodeHealth> health;
  NodeZones zones;
};

}  // namespace berth
