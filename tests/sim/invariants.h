// The invariants S1-S14 and L1-L5 (core/handshake/rules.md): one function each, which describes a violation or returns
// nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/witness.h"

namespace berth::sim {

using Breach = std::optional<std::string>;

struct Invariant {
  std::string_view name;
  std::string_view text;
  Breach (*find_breach)(const Witness& witness);
};

// Checked after every turn.
const std::vector<Invariant>& safety();

// The state expected at the end of a run.
struct Expected {
  std::map<std::string, std::string> uid_of_pod;  // by key; including gated pods; empty: whichever the gateway gave
  std::set<std::string> preemptible;              // keys of pods that may have been preempted
  bool busy = false;  // a large fleet never settles completely: recent requests may still be in transit
  Millis now = 0;
  std::uint64_t requests_at_rest = 0;  // resent PreBind, Bind and Release requests that were first sent long ago
};

struct Liveness {
  std::string_view name;
  std::string_view text;
  Breach (*find_breach)(const Witness& witness, const Expected& expected);
};

// Checked at the end of the quiet phase.
const std::vector<Liveness>& liveness();

}  // namespace berth::sim
