// Recovery: what a start makes of what was stored: nodes and placed pods go into the cache, each row resumes its
// binding cycle at its phase, and the other pods go into the queue. A slot that adopt mode finds resumes the same way.
#pragma once

#include <deque>
#include <memory>

#include "core/placement/node_registry.h"
#include "core/placement/pod_registry.h"

namespace berth {

class Recovery {
 public:
  struct Parts {
    PlacementState& state;
    Scheduler& scheduler;
    VolumeBinder& volumes;
    ProvisionedVolumes& provisioned;
    ReleaseList& releases;
    PodLifecycle& lifecycle;
    NodeRegistry& nodes;
    PodRegistry& pods;
  };
  // All outlive it.
  Recovery(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // Objects, nodes and the identity are loaded. `rows`: as stored, in the order of their uids.
  void recover(std::deque<Row> rows);
  void resume(Row row);

 private:
  void forget_promises(std::deque<Row>& rows);
  void resume_all(std::deque<Row> rows);
  std::shared_ptr<const Pod> find_placed(Row& row);
  Binding restore(Row row);

  const PlacementContext& context_;
  Parts parts_;
};

}  // namespace berth
