#include "tests/sim/network_faults.h"

#include <algorithm>

namespace berth::sim {

namespace {

Millis below(Random& random, Millis bound) {
  return static_cast<Millis>(random.below(static_cast<std::uint64_t>(bound)));
}

bool contains(const Leg& leg, std::string_view type) {
  return leg.message.payload.find("\"" + std::string(type) + "\"") != std::string::npos;
}

}  // namespace

NetworkFaults::NetworkFaults(std::uint64_t seed, Counts& counts, Sabotage sabotage)
    : counts_(counts), sabotage_(sabotage) {
  Random random(seed);
  lose_ = random.below(150);
  duplicate_ = random.below(120);
  overtake_ = random.below(150);
  delay_ = random.below(60);
}

void NetworkFaults::soften(std::uint64_t times) {
  for (std::uint64_t* chance : {&lose_, &duplicate_, &overtake_, &delay_}) *chance /= times;
  stall_odds_ *= times * times;
}

void NetworkFaults::set_storm(bool storm) {
  storm_ = storm;
  from_.clear();
  to_.clear();
}

// Sabotage of liveness: some answers are always lost after the fault phase.
bool NetworkFaults::is_lost_for_ever(const Leg& leg) const {
  if (sabotage_ == Sabotage::m) return !storm_ && leg.message.topic.find("/status/") != std::string::npos;
  if (storm_ || leg.message.topic.find("/answers/") == std::string::npos) return false;
  switch (sabotage_) {
    case Sabotage::l2: return contains(leg, "PreBound") || contains(leg, "preBound");
    case Sabotage::l3: return contains(leg, "Released");
    case Sabotage::l4: return contains(leg, "Bound") || contains(leg, "bound");
    default: return false;
  }
}

namespace {

// What gateways say to each other is sent with QoS 1 and in order, and received so.
bool is_between_gateways(const Leg& leg) {
  const std::string& topic = leg.message.topic;
  return topic.ends_with("/leader") || (topic.contains("/gateways/") && topic.contains("/presence/"));
}

// desired/ and status/ are sent with QoS 1 and in order: they are lost only with the connection, or with the broker's
// retained messages. The gateway does not read its own statuses.
bool is_published_by_gateway(const Leg& leg) {
  if (leg.from != "gateway") return false;
  const std::string& topic = leg.message.topic;
  return topic.find("/status/") != std::string::npos || topic.find("/desired/") != std::string::npos;
}

}  // namespace

Fate NetworkFaults::judge(const Leg& leg, Random& random) {
  Fate fate;
  fate.delay = 1 + below(random, 20);
  if (is_lost_for_ever(leg) || (!muted_.empty() && leg.from == muted_)) fate.copies = 0;
  if (!storm_ || is_published_by_gateway(leg) || is_between_gateways(leg)) return fate;
  if (from_.contains(std::string(leg.from)) || (!leg.to.empty() && to_.contains(std::string(leg.to)))) {
    ++counts_.faults["partition"];
    fate.copies = 0;
    return fate;
  }
  if (random.chance(lose_, 1000)) {
    ++counts_.faults["lose"];
    fate.copies = 0;
    return fate;
  }
  if (random.chance(duplicate_, 1000)) {
    ++counts_.faults["duplicate"];
    fate.copies = 2 + static_cast<int>(random.below(2));
    fate.copy_delay = below(random, random.chance(1, 4) ? kLongestDelayMs / 3 : 400);
    fate.overtakes = true;
  }
  if (random.chance(delay_, 1000)) {
    ++counts_.faults["delay"];
    fate.delay = below(random, kLongestDelayMs);
    // Without overtaking, the whole connection stalls.
    fate.overtakes = fate.overtakes || random.chance(stall_odds_ - 1, stall_odds_);
    // Limits also the last copy: all delayed messages must arrive before the operators publish for the last time.
    fate.copy_delay = std::min(fate.copy_delay, (kLongestDelayMs - fate.delay) / std::max(fate.copies, 1));
  } else if (random.chance(overtake_, 1000)) {
    ++counts_.faults["reorder"];
    fate.delay = below(random, 600);
    fate.overtakes = true;
  }
  return fate;
}

}  // namespace berth::sim
