#include "plugins/volumebinding_assumed.h"

#include "plugins/volumebinding_match.h"

namespace berth {

bool AssumedVolumes::assume(const std::string& volume, const std::string& claim, const std::string& pod_uid) {
  Promise& promise = promises_[volume];
  if (!promise.pods.empty() && promise.claim != claim) return false;
  promise.claim = claim;
  promise.pods.insert(pod_uid);
  return true;
}

void AssumedVolumes::drop(const std::string& pod_uid) {
  for (auto it = promises_.begin(); it != promises_.end();) {
    it->second.pods.erase(pod_uid);
    it = it->second.pods.empty() ? promises_.erase(it) : std::next(it);
  }
}

void AssumedVolumes::prune(const Lister& volumes) {
  std::erase_if(promises_, [&volumes](const auto& entry) {
    const auto claim = volumes.claim(entry.second.claim);
    return claim != nullptr && is_bound(*claim);
  });
}

std::string AssumedVolumes::claim_of(const std::string& volume) const {
  auto found = promises_.find(volume);
  return found == promises_.end() ? std::string() : found->second.claim;
}

}  // namespace berth
