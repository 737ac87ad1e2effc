// Messages of a lying device, which sends anything under its own identity: unsolicited answers about any pod, epoch,
// incarnation and gateway, listings of slots that it does not have, invented presence, states (also with another
// device's host name) and statuses, signing requests and what is none, and text that is not JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport.h"
#include "tests/sim/process.h"

namespace berth::sim {

// In the topics of statuses that lying devices leave behind.
inline constexpr std::string_view kJunk = "/pods/junk/";
// A status that the broker retains, under a name that no pod has.
Message junk_status(SimEnvironment& world, const std::string& node);
// One message on a topic that the broker allows this node to write.
Message lie(SimEnvironment& world, const std::string& node);

// Slots that nobody gave have uids that begin so.
inline constexpr std::string_view kMadeUp = "made-up-";
// What a lying device answers to a List so that the next one follows at once: many slots that nobody gave, under the
// incarnation it is known by, and then a new one. `nth`: of this device's floods.
std::vector<Message> flood(SimEnvironment& world, const std::string& node, const Request& list,
                           const std::string& incarnation, std::uint64_t nth);
std::string flood_incarnation(std::uint64_t nth);

}  // namespace berth::sim
