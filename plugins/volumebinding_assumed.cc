#include "plugins/volumebinding_assumed.h"

#include <algorithm>

#include "plugins/volume_claims.h"

namespace berth {

bool AssumedVolumes::add(Assumptions& assumptions, const std::string& what, const std::string& to,
                         const Text& pod_uid) {
  Assumption& assumption = assumptions[what];
  if (!assumption.pods.empty() && assumption.to != to) return false;
  if (assumption.pods.empty()) ++version_;
  assumption.to = to;
  assumption.pods.insert(pod_uid);
  return true;
}

bool AssumedVolumes::assume(const std::string& volume, const std::string& claim, const Text& pod_uid) {
  const bool has_another = std::any_of(claims_.begin(), claims_.end(), [&](const auto& entry) {
    return entry.second.to == claim && entry.first != volume;
  });
  return !has_another && add(claims_, volume, claim, pod_uid);
}

bool AssumedVolumes::assume_node(const std::string& claim, const std::string& node, const Text& pod_uid) {
  return add(nodes_, claim, node, pod_uid);
}

void AssumedVolumes::drop(const Text& pod_uid) {
  for (Assumptions* assumptions : {&claims_, &nodes_}) {
    for (auto it = assumptions->begin(); it != assumptions->end();) {
      it->second.pods.erase(pod_uid);
      if (it->second.pods.empty()) ++version_;
      it = it->second.pods.empty() ? assumptions->erase(it) : std::next(it);
    }
  }
}

void AssumedVolumes::prune(const Lister& volumes) {
  const auto is_kept = [&volumes](const std::string& key) {
    const auto claim = volumes.claim(key);
    return claim != nullptr && is_bound(*claim);
  };
  version_ += std::erase_if(claims_, [&is_kept](const auto& entry) { return is_kept(entry.second.to); });
  version_ += std::erase_if(nodes_, [&is_kept](const auto& entry) { return is_kept(entry.first); });
}

std::string AssumedVolumes::claim_of(const std::string& volume) const {
  auto found = claims_.find(volume);
  return found == claims_.end() ? std::string() : found->second.to;
}

const std::string* AssumedVolumes::node_of(const std::string& claim) const {
  auto found = nodes_.find(claim);
  return found == nodes_.end() ? nullptr : &found->second.to;
}

}  // namespace berth
