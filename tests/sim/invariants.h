// The invariants S1-S12 and L1-L5 (core/handshake/rules.md): one function each, which says in words what is wrong, or
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

// What should be in the end: what the operator wants, and who can be reached.
struct Wanted {
  std::map<std::string, std::string> uid_of_pod;  // by key; gated pods included
  std::set<std::string> preemptible;              // uids of those that others may have driven out
  bool busy = false;  // a large fleet is never quite at rest: what was asked just now may still be on its way
  Millis now = 0;
  std::uint64_t requests_at_rest = 0;  // PreBind, Bind and Release, first sent long before, that are sent again
};

struct Liveness {
  std::string_view name;
  std::string_view text;
  Breach (*find_breach)(const Witness& witness, const Wanted& wanted);
};

// Checked when the faults stopped long ago.
const std::vector<Liveness>& liveness();

}  // namespace berth::sim
