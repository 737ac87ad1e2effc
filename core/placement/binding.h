// Binding: a pod that a node was decided for: its row, and the binding cycle that takes the row through the phases
// (pod_lifecycle.cc).
#pragma once

#include <memory>
#include <utility>

#include "core/api/pod.h"
#include "core/handshake/row.h"
#include "core/scheduler/binding_cycle.h"
#include "core/timers.h"

namespace berth {

struct Binding {
  Row row;     // phase none: waiting on Permit, nothing durable yet
  PodPtr pod;  // newest version; null: no such object (found on a node, or deleted meanwhile)

  // Most pods are bound, for months, and at rest: they have no cycle, which reads as a new one.
  const BindingCycle& progress() const;
  BindingCycle& edit();
  void begin(std::unique_ptr<BindingCycle> cycle) { cycle_ = std::move(cycle); }
  bool is_at_rest() const { return cycle_ == nullptr; }
  void cancel(Timers& timers);  // both
  // Drops the cycle when nothing of it is needed any more.
  void rest();

 private:
  std::unique_ptr<BindingCycle> cycle_;
};
static_assert(sizeof(void*) < 8 || sizeof(Binding) <= 64);

}  // namespace berth
