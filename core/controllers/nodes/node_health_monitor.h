// NodeHealthMonitor: the look at all nodes that happens every few seconds (monitorNodeHealth).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/controllers/cluster_access.h"
#include "core/controllers/nodes/node_lifecycle.h"

namespace berth {

// Looks at all nodes: those that are not heard of become Unknown and their pods not ready; nodes that are not ready are
// queued for NoExecute taints, ready ones lose them.
class NodeHealthMonitor {
 public:
  static constexpr Millis kPeriod = 5'000;  // between two runs
  explicit NodeHealthMonitor(NodeLifecycle& nodes) : nodes_(nodes) {}
  void run(ClusterAccess& cluster);

 private:
  using Nodes = std::vector<ControlledNodePtr>;
  void register_nodes(const Nodes& nodes, ClusterAccess& cluster);
  void look_at(const ControlledNodePtr& listed, std::map<std::string, ZoneCount>& counts, ClusterAccess& cluster);
  ControlledNodePtr note_health(const ControlledNodePtr& listed, ClusterAccess& cluster);
  void queue_or_untaint(const ControlledNode& node, const std::string& ready, ClusterAccess& cluster);
  void mark_reachable(const ControlledNode& node, ClusterAccess& cluster);

  NodeLifecycle& nodes_;
  std::set<std::string> pods_unmarked_;  // nodes of which a pod could not be marked: the next run tries again
};

}  // namespace berth
