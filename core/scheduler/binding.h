// Binding: one pod between decision and proof: its row, its reservation, its timers, and the coroutine that walks the
// row through the phases.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/handshake/row.h"
#include "core/queue/queued_pod.h"
#include "core/scheduler/scheduling_cycle.h"
#include "core/scheduler/task.h"
#include "core/timers.h"

namespace berth {

struct Binding {
  Row row;                         // phase none: waiting on Permit, nothing durable yet
  QueuedPod queued;                // what goes back to the queue when it fails
  std::shared_ptr<const Pod> pod;  // null: no such object (found on a node, or deleted meanwhile)
  std::optional<Reservation> reservation;
  std::map<std::string, Timers::Id> permit_waits;  // Permit plugins still to allow it, each with its timeout
  Mailbox<RowEvent> events;
  Mailbox<Status> permitted;
  std::vector<std::string> provisioning;  // claims that a provisioner has to fill before the device is asked
  Millis prebind_sent = -1;               // clock of the last PreBind sent; -1: none in this run
  Timers::Id deadline = 0;                // prebind given up; before it, PreBind run again though no claim changed
  Timers::Id resend = 0;
  int resends = 0;     // since the last move
  std::string reason;  // of the last rejection, for people
  Task task;           // last member: dropped first
};

}  // namespace berth
