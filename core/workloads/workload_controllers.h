// WorkloadControllers: the controllers in the gateway's turn: they run when something changed, or a time has come, and
// what they write is committed with the turn.
#pragma once

#include <cstdint>
#include <optional>

#include "core/controllers/manager.h"
#include "core/workloads/cluster.h"

namespace berth {

class WorkloadControllers {
 public:
  // Both outlive it.
  WorkloadControllers(const PlacementContext& context, Placement& placement);
  ~WorkloadControllers();
  WorkloadControllers(const WorkloadControllers&) = delete;
  WorkloadControllers& operator=(const WorkloadControllers&) = delete;

  // The store is loaded.
  void begin() { cluster_.begin(); }
  // Until there is nothing to do, or `end_us` on the clock has come: then true.
  bool run(std::int64_t end_us);
  // As run() does, nothing is evicted before all is known: then an error says what is missing.
  Result<EvictionAnswer> evict(const ObjectKey& pod);

 private:
  bool knows_all() const;
  void deliver();
  void note_garbage(const ObjectChange& change);
  bool has_absent_owner(const ControlledObject& object) const;
  bool run_all(std::int64_t end_us);
  // `next`: milliseconds since 1970.
  void set_timer(const std::optional<Millis>& next);

  const PlacementContext& context_;
  Cluster cluster_;
  ControllerManager manager_;
  bool may_have_garbage_ = true;
  bool rests_ = false;  // until the timer: nothing is synchronised
  Timers::Id timer_ = 0;
};

}  // namespace berth
