// Holds: why the gateway itself keeps pods away from a node. Each is a NoSchedule taint of the effective Node and a
// condition of its status. Not durable.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth {

enum class Hold {
  passed_over,  // it was asked to take pods, and did not
  // Quarantine: what it reports is beyond the limits (node_limits.h).
  state,
  slots,
  statuses,
  incarnations,
  takeovers,
  term,   // it obeys a gateway whose term cannot be exceeded
  twins,  // two devices answer under its name
};

struct HoldName {
  std::string_view taint;
  std::string_view condition;
  std::string_view reason;  // of the condition
};
const HoldName& describe(Hold hold);

using Holds = std::map<Hold, std::string>;  // with the reason, for people

// Why the node is quarantined, for people; empty: it is not.
std::string quarantine_of(const Holds& holds);

}  // namespace berth
