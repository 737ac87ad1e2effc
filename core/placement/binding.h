// Binding: one pod between decision and proof: its row, its reservation, its timers, and the coroutine that takes the
// row through the phases (pod_lifecycle.cc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/handshake/row.h"
#include "core/placement/task.h"
#include "core/scheduler/scheduler.h"
#include "core/timers.h"

namespace berth {

// What a binding needs while its row moves, or while its device is asked something.
struct BindingProgress {
  std::unique_ptr<BindingCycle> cycle;  // null from phase bound on: it is over
  Mailbox<RowEvent> events;
  Mailbox<Status> permitted;
  std::vector<std::string> provisioning;  // claims that a provisioner has to fill before the device is asked
  Millis prebind_sent = -1;               // clock of the last PreBind sent; -1: none in this run
  Timers::Id deadline = 0;                // prebind given up; before it, PreBind run again though no claim changed
  Timers::Id resend = 0;
  int resends = 0;        // since the last move
  bool deferred = false;  // phase none: decided, but its node has as many requests to answer as it may have
  std::string reason;     // of the last rejection, for people
  Status refusal;         // why a Bind plugin rejected it; success: none did
  Task task;              // not begun: bound before the start, and nothing happened since. Last member: dropped first
};

struct Binding {
  Row row;                         // phase none: waiting on Permit, nothing durable yet
  std::shared_ptr<const Pod> pod;  // newest version; null: no such object (found on a node, or deleted meanwhile)

  // Most bindings are bound, for months, and at rest: they have none, which reads as a new one.
  const BindingProgress& progress() const;
  BindingProgress& edit();
  bool is_at_rest() const { return progress_ == nullptr; }
  void cancel(Timers& timers);  // both
  // Drops the progress when nothing of it is needed any more.
  void rest();

 private:
  std::unique_ptr<BindingProgress> progress_;
};

}  // namespace berth
