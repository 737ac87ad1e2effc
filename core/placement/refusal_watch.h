// RefusalWatch: keeps what devices have refused (core/framework/refusals.h) as long as it may be true, and tries a
// refused pod on another node at once (D6).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/placement/context.h"
#include "core/placement/events.h"
#include "core/placement/object_changes.h"
#include "core/scheduler/scheduler.h"

namespace berth {

class RefusalWatch {
 public:
  // All outlive it.
  RefusalWatch(const PlacementContext& context, Scheduler& scheduler, ObjectChanges& changes);

  // The device has rejected PreBind, and the pod is back in the queue.
  void note_rejected(const Pod& pod, const std::string& node, const std::string& incarnation, const Refusal& refusal);
  // The device says something else of itself.
  void forget(const std::string& node);
  // It says that it may take what it has refused.
  void end_lasting(const std::string& node) { scheduler_.refusals().end_lasting(node); }
  // It is known by this incarnation: another one has refused nothing.
  void note_incarnation(const std::string& node, const std::string& incarnation);
  // Volumes or claims have changed.
  void end_of_volumes();
  // Called once a second.
  void tick();

 private:
  // The pod's profile keeps it off nodes that have refused it.
  bool is_filtered(const Pod& pod) const;
  void wake(const std::string& node);

  const PlacementContext& context_;
  Scheduler& scheduler_;
  ObjectChanges& changes_;
  std::map<std::string, std::string> incarnations_;  // of the nodes that have refused something
};

}  // namespace berth
