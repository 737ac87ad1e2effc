// Which epochs live on a node: those of its rows and of its release-list entries (rules.md P10).
#include <algorithm>
#include <iterator>

#include "core/gateway/gateway.h"

namespace berth {

namespace {

bool is_below(const std::pair<Epoch, Text>& held, const Epoch& wanted) { return held.first < wanted; }

}  // namespace

// P10: the lowest epoch of any live row or release-list entry of the node; with none, the next epoch.
Epoch Gateway::floor_of(const std::string& node) const {
  auto found = live_epochs_.find(node);
  if (found != live_epochs_.end() && !found->second.empty()) return found->second.front().first;
  return {identity_.id.term, store_.next_position()};
}

void Gateway::hold_epoch(const std::string& node, const Epoch& epoch, const Text& uid) {
  auto& live = live_epochs_[node];
  auto place = std::lower_bound(live.begin(), live.end(), epoch, is_below);
  for (; place != live.end() && place->first == epoch; ++place) {
    if (place->second == uid) return;
  }
  live.insert(place, {epoch, uid});
}

// Of this pod: one that an earlier store placed may have the same epoch.
void Gateway::drop_epoch(const std::string& node, const Epoch& epoch, std::string_view uid) {
  if (auto listing = listings_.find(node); listing != listings_.end()) listing->second.ended.insert(epoch);
  auto found = live_epochs_.find(node);
  if (found == live_epochs_.end()) return;
  std::erase_if(found->second, [&](const auto& held) { return held.first == epoch && held.second == uid; });
  if (found->second.empty()) live_epochs_.erase(found);
}

// Of the row or release-list entry that this node's epoch is of; empty: there is none, or two are. The device names
// the pod then, once it knows of both.
std::string Gateway::uid_of_epoch(const std::string& node, const Epoch& epoch) const {
  const auto live = live_epochs_.find(node);
  if (live == live_epochs_.end()) return {};
  const auto held = std::lower_bound(live->second.begin(), live->second.end(), epoch, is_below);
  if (held == live->second.end() || held->first != epoch) return {};
  if (std::next(held) != live->second.end() && std::next(held)->first == epoch) return {};
  return held->second;
}

std::vector<Binding*> Gateway::rows_of(const std::string& node) {
  std::vector<Binding*> rows;
  const auto live = live_epochs_.find(node);
  if (live == live_epochs_.end()) return rows;
  for (const auto& [epoch, uid] : live->second) {
    const auto found = bindings_.find(uid);
    if (found == bindings_.end() || found->second.row.phase == Phase::none) continue;
    if (found->second.row.node == node && found->second.row.epoch == epoch) rows.push_back(&found->second);
  }
  std::sort(rows.begin(), rows.end(), [](const Binding* a, const Binding* b) { return a->row.uid < b->row.uid; });
  return rows;
}

}  // namespace berth
