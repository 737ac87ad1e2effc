#include "core/framework/refusals.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

constexpr Millis kForever = std::numeric_limits<Millis>::max() / 2;

bool has_claims(const Pod& pod) {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(),
                     [](const PodVolume& volume) { return volume.ephemeral || !volume.claim_name.empty(); });
}

}  // namespace

Refusals::Key Refusals::key_of(const Pod& pod) const {
  const std::string_view manifest = pod.shape;
  const auto address = reinterpret_cast<std::uintptr_t>(manifest.data());
  Hashed& hashed = hashed_[(address / 64) % hashed_.size()];
  if (hashed.manifest.get().data() != manifest.data() || hashed.manifest.empty()) {
    hashed = {pod.shape, siphash(SipKey{}, manifest)};
  }
  return hashed.key;
}

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

bool Refusals::can_note(const Pod& pod, const std::string& node) const {
  if (has_capacity(node)) return true;
  const auto known = refused_.find(key_of(pod));
  return known != refused_.end() && known->second.nodes.contains(node);
}

bool Refusals::make_room(const std::string& node, Millis now) {
  if (!has_capacity(node)) drop_oldest(node, now);
  return has_capacity(node);
}

void Refusals::drop_oldest(const std::string& node, Millis now) {
  auto oldest = refused_.end();
  Millis since = now - kKeptMs;
  for (auto at = refused_.begin(); at != refused_.end(); ++at) {
    const auto refusal = at->second.nodes.find(node);
    if (refusal == at->second.nodes.end() || refusal->second.until != kForever || refusal->second.since > since)
      continue;
    oldest = at;
    since = refusal->second.since;
  }
  if (oldest == refused_.end()) return;
  oldest->second.nodes.erase(node);
  forget_count(node);
  changed(oldest->second);
  if (oldest->second.nodes.empty()) refused_.erase(oldest);
}

bool Refusals::note(const Pod& pod, const std::string& node, const std::string& reason, Millis now, bool lasts) {
  const Key key = key_of(pod);
  const auto known = refused_.find(key);
  const bool is_known = known != refused_.end() && known->second.nodes.contains(node);
  if (!is_known && !make_room(node, now)) return false;
  if (refused_.empty()) sizes_.clear();
  sizes_.insert(std::string_view(pod.shape).size());
  Refused& refused = refused_[key];
  refused.has_claims = has_claims(pod);
  Refusal& refusal = refused.nodes[node];
  refusal.pause = is_known ? std::min(2 * refusal.pause, limits_.max) : limits_.first;
  refusal.until = lasts ? kForever : now + refusal.pause;
  refusal.since = now;
  refusal.reason = reason;
  refusal.counts = true;
  changed(refused);
  if (is_known) return true;
  ++count_[node];
  ++count_in_all_;
  return true;
}

// The names are of those that give the same reason, so that a message shows it once.
void Refusals::changed(Refused& refused) {
  refused.changes = ++changes_;
  std::map<std::string_view, std::vector<const std::string*>> who;
  for (const auto& [node, refusal] : refused.nodes) {
    if (refusal.counts) who[refusal.reason].push_back(&node);
  }
  std::map<std::string_view, std::shared_ptr<const std::string>> verdicts;
  for (const auto& [reason, nodes] : who) {
    std::string names;
    for (std::size_t i = 0; i < std::min(nodes.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + *nodes[i];
    if (nodes.size() > kNamed) names += " and " + std::to_string(nodes.size() - kNamed) + " more";
    verdicts[reason] = std::make_shared<const std::string>(std::string(reason) + " (" + names + ")");
  }
  for (auto& [node, refusal] : refused.nodes) {
    if (refusal.counts) refusal.verdict = verdicts.at(refusal.reason);
  }
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
  return refusal == refused->second.nodes.end() || !refusal->second.counts ? nullptr : refusal->second.verdict.get();
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
    if (at->second.nodes.erase(node) > 0) changed(at->second);
    at = at->second.nodes.empty() ? refused_.erase(at) : std::next(at);
  }
  return true;
}

void Refusals::end_lasting(const std::string& node) {
  for (auto& [key, refused] : refused_) {
    const auto refusal = refused.nodes.find(node);
    if (refusal == refused.nodes.end() || refusal->second.until != kForever) continue;
    refusal->second.until = refusal->second.since + refusal->second.pause;
  }
}

std::vector<std::string> Refusals::end_of_volumes() {
  std::set<std::string> nodes;
  for (auto at = refused_.begin(); at != refused_.end();) {
    Refused& refused = at->second;
    if (!refused.has_claims) {
      ++at;
      continue;
    }
    for (auto& [node, refusal] : refused.nodes) {
      if (std::exchange(refusal.counts, false)) nodes.insert(node);
    }
    std::erase_if(refused.nodes, [&](const auto& each) {
      const bool lasted = each.second.until == kForever;
      if (lasted) forget_count(each.first);
      return lasted;
    });
    changed(refused);
    at = refused.nodes.empty() ? refused_.erase(at) : std::next(at);
  }
  return {nodes.begin(), nodes.end()};
}

// An ended one is remembered for as long again as the longest, so that the next one lasts longer.
std::vector<std::string> Refusals::end_due(Millis now) {
  std::set<std::string> nodes;
  for (auto at = refused_.begin(); at != refused_.end();) {
    Refused& refused = at->second;
    bool has_ended = false;
    for (auto& [node, refusal] : refused.nodes) {
      if (now < refusal.until || !std::exchange(refusal.counts, false)) continue;
      nodes.insert(node);
      has_ended = true;
    }
    if (has_ended) changed(refused);
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
