#include "core/framework/refusals.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/api/pod.h"

namespace berth {

Refusals::Key Refusals::key_of(const Pod& pod) { return siphash(SipKey{}, std::string_view(pod.shape)); }

bool Refusals::Refused::counts() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& each) { return each.second.counts; });
}

const Refusals::Refused* Refusals::find(const Key& key) const {
  const auto found = refused_.find(key);
  return found == refused_.end() || !found->second.counts() ? nullptr : &found->second;
}

// One refused pod must not cost every decision about any other a hash of its manifest.
bool Refusals::may_be_refused(const Pod& pod) const {
  return !refused_.empty() && sizes_.contains(std::string_view(pod.shape).size());
}

bool Refusals::has_capacity(const std::string& node) const {
  const auto found = count_.find(node);
  return count_in_all_ < kInAll && (found == count_.end() || found->second < kPerNode);
}

void Refusals::note(const Pod& pod, const std::string& node, const std::string& reason, Millis now) {
  const Key key = key_of(pod);
  const auto known = refused_.find(key);
  const bool is_known = known != refused_.end() && known->second.nodes.contains(node);
  if (!is_known && !has_capacity(node)) return;
  if (refused_.empty()) sizes_.clear();
  sizes_.insert(std::string_view(pod.shape).size());
  Refused& refused = refused_[key];
  refused.has_volumes = !pod.volumes.empty();
  refused.changes = ++changes_;
  Refusal& refusal = refused.nodes[node];
  refusal.pause = is_known ? std::min(2 * refusal.pause, limits_.max) : limits_.first;
  refusal.until = now + refusal.pause;
  refusal.reason = reason;
  refusal.counts = true;
  if (is_known) return;
  ++count_[node];
  ++count_in_all_;
}

std::size_t Refusals::count(const Pod& pod) const {
  if (!may_be_refused(pod)) return 0;
  const Refused* refused = find(key_of(pod));
  if (refused == nullptr) return 0;
  return static_cast<std::size_t>(
      std::count_if(refused->nodes.begin(), refused->nodes.end(), [](const auto& each) { return each.second.counts; }));
}

const std::string* Refusals::reason(const Key& key, const std::string& node) const {
  const auto refused = refused_.find(key);
  if (refused == refused_.end()) return nullptr;
  const auto refusal = refused->second.nodes.find(node);
  return refusal == refused->second.nodes.end() || !refusal->second.counts ? nullptr : &refusal->second.reason;
}

std::uint64_t Refusals::changes(const Key& key) const {
  const auto refused = refused_.find(key);
  return refused == refused_.end() ? 0 : refused->second.changes;
}

bool Refusals::forget(const std::string& node) {
  const auto known = count_.find(node);
  if (known == count_.end()) return false;
  count_in_all_ -= known->second;
  count_.erase(known);
  for (auto at = refused_.begin(); at != refused_.end();) {
    if (at->second.nodes.erase(node) > 0) at->second.changes = ++changes_;
    at = at->second.nodes.empty() ? refused_.erase(at) : std::next(at);
  }
  return true;
}

std::vector<std::string> Refusals::end_of_volumes() {
  std::set<std::string> nodes;
  for (auto& [key, refused] : refused_) {
    if (!refused.has_volumes) continue;
    for (auto& [node, refusal] : refused.nodes) {
      if (std::exchange(refusal.counts, false)) nodes.insert(node);
    }
    refused.changes = ++changes_;
  }
  return {nodes.begin(), nodes.end()};
}

// An ended one is remembered for as long again as the longest, so that the next one lasts longer.
std::vector<std::string> Refusals::end_due(Millis now) {
  std::set<std::string> nodes;
  for (auto at = refused_.begin(); at != refused_.end();) {
    Refused& refused = at->second;
    for (auto& [node, refusal] : refused.nodes) {
      if (now < refusal.until || !std::exchange(refusal.counts, false)) continue;
      nodes.insert(node);
      refused.changes = ++changes_;
    }
    std::erase_if(refused.nodes, [&](const auto& each) {
      const bool is_old = now >= each.second.until + limits_.max;
      if (is_old) forget_count(each.first);
      return is_old;
    });
    at = refused.nodes.empty() ? refused_.erase(at) : std::next(at);
  }
  return {nodes.begin(), nodes.end()};
}

void Refusals::forget_count(const std::string& node) {
  const auto count = count_.find(node);
  if (--count->second == 0) count_.erase(count);
  --count_in_all_;
}

}  // namespace berth
