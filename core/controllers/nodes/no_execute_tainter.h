// NoExecuteTainter: tainting at a limited rate (doNoExecuteTaintingPass).
#pragma once

#include "core/controllers/cluster_access.h"
#include "core/controllers/nodes/node_lifecycle.h"

namespace berth {

// Gives nodes that are queued a NoExecute taint, as fast as the state of their zone allows.
class NoExecuteTainter {
 public:
  // Between two runs upstream; none misses a node that is run less often, only the time.
  static constexpr Millis kPeriod = 100;
  explicit NoExecuteTainter(NodeLifecycle& nodes) : nodes_(nodes) {}
  void run(ClusterAccess& cluster);

 private:
  NodeLifecycle& nodes_;
};

}  // namespace berth
