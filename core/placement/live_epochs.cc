#include "core/placement/live_epochs.h"

#include <algorithm>

namespace berth {

namespace {

bool is_below(const std::pair<Epoch, Text>& held, const Epoch& epoch) { return held.first < epoch; }

}  // namespace

Epoch LiveEpochs::floor_of(std::string_view node, const Epoch& next) const {
  const Epochs* live = of(node);
  return live == nullptr || live->empty() ? next : live->front().first;
}

void LiveEpochs::hold(const Text& node, const Epoch& epoch, const Text& uid) {
  Epochs& live = live_[node];
  auto at = std::lower_bound(live.begin(), live.end(), epoch, is_below);
  for (; at != live.end() && at->first == epoch; ++at) {
    if (at->second == uid) return;
  }
  const auto index = at - live.begin();
  // There is such a list for each node, and most are as long as they will get.
  if (live.size() == live.capacity()) live.reserve(live.size() + live.size() / 4 + 1);
  live.insert(live.begin() + index, {epoch, uid});
}

void LiveEpochs::drop(std::string_view node, const Epoch& epoch, std::string_view uid) {
  auto found = live_.find(node);
  if (found == live_.end()) return;
  std::erase_if(found->second, [&](const auto& held) { return held.first == epoch && held.second == uid; });
  if (found->second.empty()) live_.erase(found);
}

std::string LiveEpochs::uid_of(std::string_view node, const Epoch& epoch) const {
  const Epochs* live = of(node);
  if (live == nullptr) return {};
  const auto held = std::lower_bound(live->begin(), live->end(), epoch, is_below);
  if (held == live->end() || held->first != epoch) return {};
  if (std::next(held) != live->end() && std::next(held)->first == epoch) return {};
  return held->second;
}

const LiveEpochs::Epochs* LiveEpochs::of(std::string_view node) const {
  const auto found = live_.find(node);
  return found == live_.end() ? nullptr : &found->second;
}

}  // namespace berth
