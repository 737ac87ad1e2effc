// Quarantine: devices that report more of themselves than the limits allow (NodeLimits). They get no pods, and nothing
// durable is written for what they flood. Counts slots that nobody gave, and bounds how often each device is reported.
// Nothing of this is durable.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/objects/node_limits.h"

namespace berth {

class Quarantine {
 public:
  static constexpr Millis kTellEveryMs = 60'000;

  explicit Quarantine(const NodeLimits& limits) : limits_(limits) {}

  // What a node listed, or the part of it that is beyond the limit.
  struct Listing {
    std::size_t slots = 0;
    std::size_t unexplained = 0;  // of them nobody gave: each would become an entry of the release list
    std::size_t entries = 0;      // that the release list has of the node already
  };
  // Why the listing is not to be taken; empty: it is.
  std::string find_excess(const std::string& node, const Listing& listing, Millis now) const;
  // Such slots were taken.
  void note_unexplained(const std::string& node, std::size_t slots, Millis now);
  // True when it is time to tell of this node again.
  bool may_tell(const std::string& node, Millis now);
  void forget(const std::string& node) { seen_.erase(node); }

 private:
  struct Seen {
    Millis since = 0;       // of the window
    std::size_t found = 0;  // slots in it that nobody gave
    bool told = false;
    Millis told_at = 0;
  };

  NodeLimits limits_;
  std::map<std::string, Seen> seen_;  // by node: those that had something to count or to tell
};

}  // namespace berth
