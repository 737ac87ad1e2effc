// Messages of a lying device, which sends anything under its own identity: unsolicited answers about any pod, epoch,
// incarnation and gateway, listings of slots that it does not have, invented presence, states (also with another
// device's host name) and statuses, and text that is not JSON.
#pragma once

#include "core/transport.h"
#include "tests/sim/process.h"

namespace berth::sim {

// One message on a topic that the broker allows this node to write.
Message lie(SimEnvironment& world, const std::string& node);

}  // namespace berth::sim
