// OpenListing: the pages of a node's Slots while they come (core/handshake/rules.md, Comparison).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/handshake/messages.h"
#include "core/timers.h"

namespace berth {

struct OpenListing {
  std::uint64_t id = 0;
  std::uint32_t pages = 0;
  std::map<std::uint32_t, std::vector<SlotReport>> got;
  std::set<Epoch> ended;  // since it was asked for, by the node's own word: what it tells of them is older
  Timers::Id resend = 0;
  int resends = 0;
};

}  // namespace berth
