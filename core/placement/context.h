// PlacementContext: what every part of this room works with; all of it belongs to the gateway and outlives the room.
#pragma once

#include "core/clock.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/mirror/event_recorder.h"
#include "core/mirror/mirror.h"
#include "core/objects/identity.h"
#include "core/objects/nodes.h"
#include "core/objects/objects.h"
#include "core/placement/options.h"
#include "core/random.h"
#include "core/store.h"
#include "core/timers.h"
#include "core/turn.h"

namespace berth {

// Whether new objects may be accepted: as the store has it, unless they are refused for another reason.
struct AdmissionPolicy {
  Store& store;
  std::string refusal = {};  // not empty: why
  // Success, or Code::unschedulable with the reason.
  Status capacity() const { return refusal.empty() ? store.capacity() : Status::unschedulable(refusal); }
};

struct PlacementContext {
  const GatewayOptions& options;
  const Clock& clock;
  Store& store;
  Timers& timers;
  Log& log;
  Random& random;
  Turn& turn;
  const Topics& topics;
  Metrics& metrics;
  const AdmissionPolicy& admission;
  Objects& objects;
  Nodes& nodes;
  IdentityRecord& identity;
  Mirror& mirror;
  RetainedPublisher& publisher;  // of the mirror
  EventRecorder& events;
};

// Why nothing is placed in adopt mode (P8).
inline constexpr std::string_view kRecoveringStore =
    "recovering a lost store; binding is paused until all nodes have reported";

// Logs that something from outside was refused; `what` is its topic or its name.
inline void log_refused(Log& log, std::string_view what, const std::string& why) {
  log.write(Level::warn, "refused", {{"topic", std::string(what)}, {"reason", why}});
}

}  // namespace berth
