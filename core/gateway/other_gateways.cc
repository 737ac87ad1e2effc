#include "core/gateway/other_gateways.h"

#include <algorithm>

namespace berth {

namespace {

constexpr Millis kOwnPastMs = 2'000;  // an earlier run of this gateway has not answered by then
constexpr std::size_t kMaxRuns = 64;  // of more, those heard last are kept

bool is_active(const GatewayPresence& said) {
  return said.state == PresenceState::claiming || said.state == PresenceState::serving;
}

}  // namespace

// Of too many, whoever is active is kept before whoever waits or has gone.
void OtherGateways::take(const std::string& run, Run other) {
  const PresenceState state = other.said.state;
  if (other.is_live && state != PresenceState::offline && other.said.machine == machine_) is_copied_ = true;
  if (state == PresenceState::serving && !is_own_past(other)) must_follow_ = true;
  const bool is_of_leader = leader_ && leader_->machine == other.said.machine;
  if (is_of_leader && state != PresenceState::waiting) leader_heard_ = clock_.now();
  runs_[run] = std::move(other);
  if (runs_.size() <= kMaxRuns) return;
  const auto least = std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
    return std::pair(is_active(a.second.said), a.second.heard) < std::pair(is_active(b.second.said), b.second.heard);
  });
  runs_.erase(least);
}

bool OtherGateways::has_gone(const Run& other) const {
  const Millis patience = is_own_past(other) ? std::min(kOwnPastMs, takeover_ms_) : takeover_ms_;
  return clock_.now() - std::max(other.heard, heard_since_) >= patience;
}

const OtherGateways::Run* OtherGateways::find_rival() const {
  for (const auto& [run, other] : runs_) {
    if (is_active(other.said) && !has_gone(other)) return &other;
  }
  return nullptr;
}

// A link that is lost for a moment is no reason to ask all nodes again.
bool OtherGateways::waits_for_leader(const std::string& store_id) const {
  if (!leader_ || (is_leader_of_this_machine() && !is_copied_)) return false;
  const bool is_itself = leader_->id.store_id == store_id && !must_follow_;
  return !is_itself && clock_.now() - leader_heard_ < takeover_ms_;
}

bool OtherGateways::has_live() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const auto& each) {
    return each.second.is_live && each.second.said.state != PresenceState::offline;
  });
}

std::vector<std::pair<std::string, std::string>> OtherGateways::take_gone() {
  std::vector<std::pair<std::string, std::string>> gone;
  std::erase_if(runs_, [&](const auto& each) {
    const auto& [run, other] = each;
    if (other.said.state != PresenceState::offline && !is_own_past(other) && !has_gone(other)) return false;
    gone.emplace_back(other.gateway, run);
    return true;
  });
  return gone;
}

std::string OtherGateways::rival_gateway() const {
  if (const Run* rival = find_rival()) return rival->gateway;
  return leader_ ? leader_->gateway : std::string();
}

std::string OtherGateways::rival_text() const {
  const Run* rival = find_rival();
  const std::string address = rival == nullptr ? std::string() : rival->said.address;
  const std::string name = rival_gateway();
  return (name.empty() ? "another gateway" : "gateway \"" + name + "\"") + (address.empty() ? "" : " at " + address);
}

}  // namespace berth
