// BindingCycle: one pod between its decision and its end. The scheduler makes it and keeps in it what the stages of the
// cycle need; its driver (core/placement/pod_lifecycle.cc) keeps in it what the pod waits for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/framework/framework.h"
#include "core/framework/queued_pod.h"
#include "core/handshake/row.h"
#include "core/recycled.h"
#include "core/scheduler/reservation.h"
#include "core/task.h"
#include "core/timers.h"

namespace berth {

struct BindingCycle : Recycled<BindingCycle> {
  // The scheduler's, until phase bound.
  const Framework* framework = nullptr;
  std::string node;
  QueuedPod queued;                        // what goes back to the queue when it fails; the pod as it was tried
  std::optional<Reservation> reservation;  // none after a restart without the pod's profile
  bool waits = false;                      // on Permit

  // The driver's.
  Mailbox<RowEvent> events;
  Mailbox<Status> permitted;
  PlacementRequest request;  // as far as PreBind has come; `provision`: what the device is asked after
  Millis prebind_sent = -1;  // clock of the last PreBind sent; -1: none in this run
  Timers::Id deadline = 0;   // prebind given up; before it, PreBind run again though no claim changed
  Timers::Id resend = 0;
  int resends = 0;        // since the last move
  bool deferred = false;  // phase none: decided, but its node has as many requests to answer as it may have
  std::string reason;     // of the last rejection, for people
  Status refusal;         // why a Bind plugin rejected it; success: none did
  Task task;              // not begun: bound before the start, and nothing happened since. Last member: dropped first

  // The pod is bound: the scheduler has no more part in it.
  void end_scheduling() {
    framework = nullptr;
    queued = {};
    reservation.reset();
    waits = false;
  }
};

}  // namespace berth
