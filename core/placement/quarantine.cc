#include "core/placement/quarantine.h"

#include <algorithm>

namespace berth {

std::string Quarantine::find_excess(const std::string& node, const Listing& listing, Millis now) const {
  const std::string limit = std::to_string(limits_.slots);
  if (listing.slots > limits_.slots) {
    return excess_text("it listed " + std::to_string(listing.slots) + " slots", "slots", limit);
  }
  if (listing.unexplained == 0) return {};
  const auto seen = seen_.find(node);
  const bool is_of_now = seen != seen_.end() && now - seen->second.since < NodeLimits::kWindowMs;
  const std::size_t before = std::max(listing.entries, is_of_now ? seen->second.found : 0);
  if (before + listing.unexplained <= limits_.slots) return {};
  return excess_text("it listed slots that nobody gave it", "slots", limit);
}

void Quarantine::note_unexplained(const std::string& node, std::size_t slots, Millis now) {
  if (slots == 0) return;
  Seen& seen = seen_[node];
  if (seen.found == 0 || now - seen.since >= NodeLimits::kWindowMs) {
    seen.since = now;
    seen.found = 0;
  }
  seen.found += slots;
}

bool Quarantine::may_tell(const std::string& node, Millis now) {
  Seen& seen = seen_[node];
  if (seen.told && now - seen.told_at < kTellEveryMs) return false;
  seen.told = true;
  seen.told_at = now;
  return true;
}

}  // namespace berth
