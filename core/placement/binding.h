// Binding: one pod between decision and proof: its row, its reservation, its timers, and the coroutine that walks the
// row through the phases.
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

// What a binding needs while its row moves, or something is asked about it.
struct Journey {
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
  Status refusal;         // what a Bind plugin said against it; success: none did
  Task task;              // not begun: bound before the start, and nothing happened since. Last member: dropped first
};

struct Binding {
  Row row;                         // phase none: waiting on Permit, nothing durable yet
  std::shared_ptr<const Pod> pod;  // newest version; null: no such object (found on a node, or deleted meanwhile)

  // Most bindings are bound, for months, and at rest: they have none, which reads as a new one.
  const Journey& journey() const;
  Journey& edit();
  bool is_at_rest() const { return journey_ == nullptr; }
  void cancel(Timers& timers);  // both
  // Drops the journey where nothing of it is wanted any more.
  void rest();

 private:
  std::unique_ptr<Journey> journey_;
};

// Its node is asked, and has not answered.
inline bool is_in_flight(const Row& row) { return row.phase == Phase::prebind || row.phase == Phase::bind; }

}  // namespace berth
