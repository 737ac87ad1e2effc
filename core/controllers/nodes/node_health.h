// Whether a node is still heard of: by its Lease, and by the condition Ready that its kubelet writes
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth).
#pragma once

#include <optional>

#include "core/clock.h"
#include "core/controllers/controlled_lease.h"
#include "core/controllers/controlled_node.h"

namespace berth {

// What was last noted of a node.
struct NodeHealth {
  std::optional<Condition> ready;             // the condition when its heartbeat last changed
  std::optional<OptionalTime> lease_renewed;  // renewTime of the Lease; none: no Lease was seen
  Millis heard_at = 0;                        // when either was last seen to change, by our clock
};

// What is noted now. `before`: null for a node that was never looked at. `lease`: null if there is none. Of a heartbeat
// that has changed the Lease is forgotten, so that it counts as renewed when it is looked at next.
NodeHealth note_signals(const NodeHealth* before, const ControlledNode& node, const ControlledLease* lease, Millis now);

// Whether nothing was heard for longer than is allowed: 50 s, or 60 s for a node without the condition Ready.
bool is_silent(const NodeHealth& health, const ControlledNode& node, Millis now);

// The conditions of a node that is silent: Ready, MemoryPressure, DiskPressure and PIDPressure are Unknown.
Conditions conditions_of_silent(const ControlledNode& node, Millis now);

}  // namespace berth
