// Hostile: a device that says anything under its own identity: answers never asked for, of any pod, epoch, incarnation
// and gateway, listings of what it does not hold, presence, state and statuses out of the air, and text that is no
// JSON.
#pragma once

#include "core/transport.h"
#include "tests/sim/process.h"

namespace berth::sim {

// One message, on a topic that the broker would let this node write.
Message lie(SimEnvironment& world, const std::string& node);

}  // namespace berth::sim
