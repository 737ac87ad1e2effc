#include "plugins/volumebinding_assumed.h"

#include <algorithm>
#include <utility>

#include "plugins/volume_claims.h"

namespace berth {

bool AssumedVolumes::Both::add(const std::string& what, const std::string& to, const Text& pod_uid) {
  Assumption& assumption = assumptions[what];
  if (!assumption.pods.empty() && assumption.to != to) return false;
  assumption.to = to;
  assumption.pods.insert(pod_uid);
  by_target[to].insert(what);
  return true;
}

AssumedVolumes::Assumptions::iterator AssumedVolumes::Both::erase(Assumptions::iterator assumption) {
  const auto target = by_target.find(assumption->second.to);
  target->second.erase(assumption->first);
  if (target->second.empty()) by_target.erase(target);
  return assumptions.erase(assumption);
}

bool AssumedVolumes::assume(const std::string& volume, const std::string& claim, const Text& pod_uid) {
  const auto of_claim = claims_.by_target.find(claim);
  if (of_claim != claims_.by_target.end() && !of_claim->second.contains(volume)) return false;
  if (!claims_.add(volume, claim, pod_uid)) return false;
  changes_.note(volume);
  by_pod_[pod_uid].volumes.insert(volume);
  return true;
}

bool AssumedVolumes::assume_node(const std::string& claim, const std::string& node, ToProvision what,
                                 const Text& pod_uid) {
  if (!nodes_.add(claim, node, pod_uid)) return false;
  nodes_.assumptions[claim].what = std::move(what);
  node_changes_.note(node);
  by_pod_[pod_uid].claims.insert(claim);
  return true;
}

void AssumedVolumes::drop(const Text& pod_uid) {
  const auto of_pod = by_pod_.extract(pod_uid);
  if (of_pod.empty()) return;
  const auto drop_from = [&pod_uid](Both& both, const std::string& what, auto note) {
    const auto assumption = both.assumptions.find(what);
    if (assumption == both.assumptions.end()) return;  // the objects have shown it
    assumption->second.pods.erase(pod_uid);
    if (!assumption->second.pods.empty()) return;
    note(*assumption);
    both.erase(assumption);
  };
  for (const std::string& volume : of_pod.mapped().volumes) {
    drop_from(claims_, volume, [this](const auto& ended) { changes_.note(ended.first); });
  }
  for (const std::string& claim : of_pod.mapped().claims) {
    drop_from(nodes_, claim, [this](const auto& ended) { node_changes_.note(ended.second.to); });
  }
}

// Of very many some at a time: in turn, each is looked at before long.
void AssumedVolumes::prune(const Lister& volumes) {
  const auto is_shown = [&volumes](const std::string& key) {
    const auto claim = volumes.claim(key);
    return claim != nullptr && is_bound(*claim);
  };
  claims_.prune([&](const auto& each) { return is_shown(each.second.to); },
                [this](const auto& ended) { changes_.note(ended.first); });
  nodes_.prune([&](const auto& each) { return is_shown(each.first); },
               [this](const auto& ended) { node_changes_.note(ended.second.to); });
}

template <class Ends, class Note>
void AssumedVolumes::Both::prune(Ends ends, Note note) {
  constexpr std::size_t kAtOnce = 64;
  auto next = assumptions.upper_bound(pruned_to);
  for (std::size_t left = std::min(kAtOnce, assumptions.size()); left > 0; --left) {
    if (next == assumptions.end()) next = assumptions.begin();
    pruned_to = next->first;
    if (!ends(*next)) {
      ++next;
      continue;
    }
    note(*next);
    next = erase(next);
  }
}

std::string AssumedVolumes::claim_of(const std::string& volume) const {
  const auto found = claims_.assumptions.find(volume);
  return found == claims_.assumptions.end() ? std::string() : found->second.to;
}

const std::string* AssumedVolumes::node_of(const std::string& claim) const {
  const auto found = nodes_.assumptions.find(claim);
  return found == nodes_.assumptions.end() ? nullptr : &found->second.to;
}

}  // namespace berth
