// NodeLimits: how much the gateway takes of what one device reports of itself. No Raspberry Pi comes near the defaults:
// a device beyond one of them is broken or lies, and is quarantined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/api/quantity.h"
#include "core/clock.h"
#include "core/json/json.h"

namespace berth {

struct NodeLimits {
  static constexpr Millis kWindowMs = 3'600'000;  // an hour, of incarnations and of slots that nobody gave
  // So many changed states of one incarnation are taken within this time; of more, the newest when that is over.
  static constexpr std::size_t kStates = 10;
  static constexpr Millis kStatesMs = 600'000;

  // In a state.
  Quantity cpu{1024};
  Quantity memory{std::int64_t{4} << 40};
  Quantity pods{2000};
  std::size_t volumes = 256;
  std::size_t labels = 256;
  // In a listing; also of the release list's entries of one node, and of slots found within an hour that nobody gave.
  std::size_t slots = 2000;
  // Statuses that the broker retains of it and no slot explains, and their bytes.
  std::size_t statuses = 1000;
  std::size_t status_bytes = 8 << 20;
  std::size_t incarnations_per_hour = 20;
  std::size_t takeovers_per_hour = 3;  // Superseded without a proof: how often the node's term rises
  // Of two devices under one name (D5): one must be silent for so long that the other is the node again.
  Millis twin_quiet_ms = 600'000;
  // A device whose connection another one has taken over is back by then: a transport waits for 30 s at most.
  Millis twin_return_ms = 60'000;
  bool operator==(const NodeLimits&) const = default;
};

// Which limit the facts of a device exceed, for people; empty: none. `allocatable`: theirs, decoded.
std::string find_excess(const NodeLimits& limits, const Json& facts, const ResourceList& allocatable);
// "<what>, more than the <limit> that node_limits.<key> allows".
std::string excess_text(const std::string& what, std::string_view key, const std::string& limit);

}  // namespace berth
