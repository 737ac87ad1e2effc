#include "core/controllers/nodes/node_zones.h"

#include <algorithm>

namespace berth {
namespace {

constexpr float kRate = 0.1F;             // --node-eviction-rate
constexpr float kReducedRate = 0.01F;     // --secondary-node-eviction-rate
constexpr std::int32_t kLargeZone = 50;   // --large-cluster-size-threshold
constexpr float kUnhealthyShare = 0.55F;  // --unhealthy-zone-threshold

const ZoneCount* find_count(const std::map<std::string, ZoneCount>& counts, const std::string& zone) {
  const auto found = counts.find(zone);
  return found == counts.end() ? nullptr : &found->second;
}

}  // namespace

ZoneState state_of(const ZoneCount& count) {
  if (count.ready == 0 && count.not_ready > 0) return ZoneState::full;
  const auto share = static_cast<float>(count.not_ready) / static_cast<float>(count.not_ready + count.ready);
  return count.not_ready > 2 && share >= kUnhealthyShare ? ZoneState::partial : ZoneState::normal;
}

float taint_rate(ZoneState state, std::int32_t nodes) {
  if (state != ZoneState::partial) return kRate;
  return nodes > kLargeZone ? kReducedRate : 0;
}

void NodeZones::add(const std::string& zone) {
  if (states_.emplace(zone, ZoneState::initial).second) queues_.insert_or_assign(zone, TaintQueue(kRate));
}

// Forgets zones without a node that counts, up to the first that had a ready one; whether there was none such. Zones go
// by name, which upstream leaves to chance.
bool NodeZones::forget_uncounted(const std::map<std::string, ZoneCount>& counts) {
  for (auto zone = states_.begin(); zone != states_.end();) {
    if (!counts.contains(zone->first)) {
      zone = states_.erase(zone);
    } else if (zone->second != ZoneState::full) {
      return false;
    } else {
      ++zone;
    }
  }
  return true;
}

NodeZones::Turn NodeZones::update(const std::map<std::string, ZoneCount>& counts, Millis now) {
  for (const auto& [zone, count] : counts) add(zone);
  const bool is_lost = std::all_of(counts.begin(), counts.end(),
                                   [](const auto& each) { return state_of(each.second) == ZoneState::full; });
  const bool was_lost = forget_uncounted(counts);
  if (is_lost && was_lost) return Turn::none;
  if (is_lost) {
    for (auto& [zone, state] : states_) {
      state = ZoneState::full;
      queue(zone).set_rate(0, now);
    }
    return Turn::lost;
  }
  for (auto& [zone, state] : states_) {
    const ZoneCount* count = find_count(counts, zone);
    const ZoneState next = count == nullptr ? ZoneState::empty : state_of(*count);
    if (next == state && !was_lost) continue;
    state = next;
    if (count != nullptr) queue(zone).set_rate(taint_rate(next, count->ready + count->not_ready), now);
  }
  return was_lost ? Turn::recovered : Turn::none;
}

}  // namespace berth
