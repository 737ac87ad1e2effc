// NetworkFaults: loss, duplication, reordering and delay of messages, with rates drawn from the seed. Outside the fault
// phase ("storm") no faults occur.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/random.h"
#include "tests/sim/counts.h"
#include "tests/sim/sabotage.h"
#include "transports/loopback.h"

namespace berth::sim {

class NetworkFaults {
 public:
  // Longer than all timers: promise, retries, restarts, three missed heartbeats.
  static constexpr Millis kLongestDelayMs = 30'000;

  NetworkFaults(std::uint64_t seed, Counts& counts, Sabotage sabotage);

  // Divides the rates of loss, duplication, reordering and delay. Delays that stall a whole connection become even
  // rarer, since they are drawn per message.
  void soften(std::uint64_t times);
  void set_storm(bool storm);
  bool is_storm() const { return storm_; }
  // The policy of LoopbackBroker.
  Fate judge(const Leg& leg, Random& random);

  // One-way partitions: messages from this client, or to it, are lost.
  void block_from(const std::string& client) { from_.insert(client); }
  void block_to(const std::string& client) { to_.insert(client); }
  // Loses everything this client sends, also outside the fault phase, until another client or none is given.
  void mute(std::string client) { muted_ = std::move(client); }
  void unblock(const std::string& client) {
    from_.erase(client);
    to_.erase(client);
  }

 private:
  bool is_lost_for_ever(const Leg& leg) const;

  Counts& counts_;
  Sabotage sabotage_;
  bool storm_ = false;
  // Chances per thousand.
  std::uint64_t lose_, duplicate_, overtake_, delay_;
  std::uint64_t stall_odds_ = 10;  // one delay in this many also holds back all later messages
  std::set<std::string> from_, to_;
  std::string muted_;
};

}  // namespace berth::sim
