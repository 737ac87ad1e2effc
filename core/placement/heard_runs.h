// HeardRuns: how far the stores of devices have come, by what they said themselves. When a device comes with another
// run of its agent, its store may be an older copy of itself: it is told how far it had come, with the next List, and
// judges (N8). Not durable: after a restart of the gateway it is what the broker retains of each device's presence.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "core/handshake/epoch.h"

namespace berth {

class HeardRuns {
 public:
  // The node, in this incarnation, says that its store has come to `at`; zero: it says nothing. True: it is to be told
  // what was heard before, by a List of its own.
  bool note(const std::string& node, const std::string& incarnation, const Epoch& at);
  // It said so before, in the run that is the last one: note() of it would change nothing.
  bool has_noted(const std::string& node, const std::string& incarnation, const Epoch& at) const;
  // What the incarnation is to be told; none: nothing.
  std::optional<Epoch> to_tell(const std::string& node, const std::string& incarnation) const;
  // It was told, and goes on nevertheless: its store knows that time.
  void note_judged(const std::string& node, const std::string& incarnation);
  void forget(const std::string& node) { heard_.erase(node); }

 private:
  struct Heard {
    std::string incarnation;
    Epoch last;
    Epoch untold;  // zero: none
  };
  std::unordered_map<std::string, Heard> heard_;  // by node
};

}  // namespace berth
