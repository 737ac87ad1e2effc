// Weather: what goes wrong between two programs, and how often. Drawn by the seed; in calm nothing goes wrong.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/random.h"
#include "tests/sim/counts.h"
#include "tests/sim/sabotage.h"
#include "transports/loopback.h"

namespace berth::sim {

class Weather {
 public:
  // Longer than every timer of this world: promise, retries, restarts, three missed heartbeats.
  static constexpr Millis kLongestDelayMs = 30'000;

  Weather(std::uint64_t seed, Counts& counts, Sabotage sabotage);

  // So many times less is lost, doubled, reordered and delayed; what stalls a whole connection is rarer still, since
  // it is drawn for each message.
  void soften(std::uint64_t times);
  void set_storm(bool storm);
  bool is_storm() const { return storm_; }
  // LoopbackBroker's policy.
  Fate judge(const Leg& leg, Random& random);

  // One way only: what this client sends, or what it should hear, is lost.
  void block_from(const std::string& client) { from_.insert(client); }
  void block_to(const std::string& client) { to_.insert(client); }
  // In calm too: nothing of what it sends arrives, until another is named, or nobody.
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
  // Chances in a thousand.
  std::uint64_t lose_, duplicate_, overtake_, delay_;
  std::uint64_t stall_odds_ = 10;  // one delay in so many holds back all that follows it
  std::set<std::string> from_, to_;
  std::string muted_;
};

}  // namespace berth::sim
