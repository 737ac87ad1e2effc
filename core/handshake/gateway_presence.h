// What the gateways of a fleet say to each other (P13): each its presence, which is also its will, and the one that
// serves that it is the leader. All are retained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/handshake/epoch.h"
#include "core/status.h"

namespace berth {

enum class PresenceState {
  offline,   // it has ended, or the broker has lost its connection
  waiting,   // it asks the one that serves whether it still does
  claiming,  // it serves from now on, unless another one has claimed that before
  serving,
};

std::string_view to_string(PresenceState state);

// Payload of gateways/<gateway>/presence/<run>, where the run is an id of one start of a program.
struct GatewayPresence {
  PresenceState state = PresenceState::offline;
  std::string machine;      // see machine_code()
  std::uint32_t claim = 0;  // counts the messages of the run; 0: its will, also said at a clean end
  std::string address;      // of the machine, for people; empty: unknown
};

// Payload of "leader": who served last.
struct Leader {
  std::string gateway;
  std::string machine;
  GatewayId id;
};

std::string encode(const GatewayPresence& presence);
std::string encode(const Leader& leader);
// An error names the member that cannot be read.
Result<GatewayPresence> decode_gateway_presence(std::string_view payload);
Result<Leader> decode_leader(std::string_view payload);

}  // namespace berth
