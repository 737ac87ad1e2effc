#include "tests/sim/weather.h"

#include <algorithm>

namespace berth::sim {

namespace {

Millis below(Random& random, Millis bound) {
  return static_cast<Millis>(random.below(static_cast<std::uint64_t>(bound)));
}

bool says(const Leg& leg, std::string_view type) {
  return leg.message.payload.find("\"" + std::string(type) + "\"") != std::string::npos;
}

}  // namespace

Weather::Weather(std::uint64_t seed, Counts& counts, Sabotage sabotage) : counts_(counts), sabotage_(sabotage) {
  Random random(seed);
  lose_ = random.below(150);
  duplicate_ = random.below(120);
  overtake_ = random.below(150);
  delay_ = random.below(60);
}

void Weather::soften(std::uint64_t times) {
  for (std::uint64_t* chance : {&lose_, &duplicate_, &overtake_, &delay_}) *chance /= times;
  stall_odds_ *= times * times;
}

void Weather::set_storm(bool storm) {
  storm_ = storm;
  from_.clear();
  to_.clear();
}

// Sabotage of liveness: an answer that never comes, once the storm is over.
bool Weather::is_lost_for_ever(const Leg& leg) const {
  if (sabotage_ == Sabotage::m) return !storm_ && leg.message.topic.find("/status/") != std::string::npos;
  if (storm_ || leg.message.topic.find("/answers/") == std::string::npos) return false;
  switch (sabotage_) {
    case Sabotage::l2: return says(leg, "PreBound");
    case Sabotage::l3: return says(leg, "Released");
    case Sabotage::l4: return says(leg, "Bound");
    default: return false;
  }
}

namespace {

// desired/ and status/ leave with QoS 1 and in order: what is lost of them is lost with the link, or with the broker's
// retained set. The gateway does not read its statuses back.
bool is_shown_by_gateway(const Leg& leg) {
  if (leg.from != "gateway") return false;
  const std::string& topic = leg.message.topic;
  return topic.find("/status/") != std::string::npos || topic.find("/desired/") != std::string::npos;
}

}  // namespace

Fate Weather::judge(const Leg& leg, Random& random) {
  Fate fate;
  fate.delay = 1 + below(random, 20);
  if (is_lost_for_ever(leg) || (!muted_.empty() && leg.from == muted_)) fate.copies = 0;
  if (!storm_ || is_shown_by_gateway(leg)) return fate;
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
    // Without overtaking the whole leg waits, as a stalled connection does.
    fate.overtakes = fate.overtakes || random.chance(stall_odds_ - 1, stall_odds_);
    // The last copy too: what the storm holds back is out when the operators have their last word.
    fate.copy_delay = std::min(fate.copy_delay, (kLongestDelayMs - fate.delay) / std::max(fate.copies, 1));
  } else if (random.chance(overtake_, 1000)) {
    ++counts_.faults["reorder"];
    fate.delay = below(random, 600);
    fate.overtakes = true;
  }
  return fate;
}

}  // namespace berth::sim
