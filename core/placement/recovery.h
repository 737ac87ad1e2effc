// Recovery: what a start makes of what was stored: nodes and placed pods go into the cache, each row resumes its
// binding cycle at its phase, and the other pods go into the queue. A slot that adopt mode finds resumes the same way.
#pragma once

#include <vector>

#include "core/api/pod.h"
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

  // A row as stored. Objects are loaded.
  void load(Row row);
  // All else is loaded too.
  void recover();
  void resume(Row row);

 private:
  void forget_promises();
  void note_live(const Row& row);
  PodPtr find_placed(Row& row);
  Binding restore(Row row);

  const PlacementContext& context_;
  Parts parts_;
  std::vector<Row> rows_;  // between load() and recover(): those to resume
};

}  // namespace berth
