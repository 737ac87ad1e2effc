#include "core/placement/status_sweep.h"

namespace berth {

namespace {

constexpr Millis kGoOnMs = 100;
constexpr std::size_t kOverheadBytes = 96;  // of a name that is kept
constexpr std::size_t kMaxNodes = 20'000;

std::size_t hash_of(std::string_view slot) { return std::hash<std::string_view>()(slot) | 1; }

}  // namespace

StatusSweep::StatusSweep(const PlacementContext& context, const PlacementState& state,
                         std::function<void(const std::string&, const std::string&)> quarantine)
    : context_(context), state_(state), quarantine_(std::move(quarantine)) {}

StatusSweep::~StatusSweep() { context_.timers.cancel(timer_); }

void StatusSweep::note(const std::string& node, const std::string& key, std::size_t bytes) {
  const auto known = found_.find(node);
  if (bytes == 0 || is_placed(node, key)) {
    if (known == found_.end()) return;
    if (const auto at = known->second.names.find(key); at != known->second.names.end()) erase(known->second, at);
    return;
  }
  // Any slot may be there: once it is known which are, all is read again.
  if (context_.identity->adopting || (known == found_.end() && found_.size() >= kMaxNodes)) {
    unread_ = true;
    return;
  }
  Found& found = known == found_.end() ? found_[node] : known->second;
  if (const auto at = found.names.find(key); at != found.names.end()) {
    at->second.bytes = bytes;
    return;
  }
  const std::size_t cost = key.size() + kOverheadBytes;
  if (found.name_bytes + cost > kNameBytes) {
    found.has_more = true;
    return;
  }
  found.name_bytes += cost;
  found.names[key] = {0, bytes, context_.clock.now()};
}

void StatusSweep::note_slot(const std::string& node, const std::string& key, const Json& report) {
  const auto found = found_.find(node);
  if (found == found_.end()) return;
  const auto at = found->second.names.find(key);
  if (at == found->second.names.end()) return;
  at->second.slot = hash_of(node + "/" + report.string_at("uid") + "/" + report.string_at("epoch"));
}

void StatusSweep::reset() {
  for (auto& [node, found] : found_) {
    found.names.clear();
    found.name_bytes = 0;
    found.has_more = false;
  }
  std::erase_if(found_, [](const auto& each) { return !each.second.is_beyond; });
  unread_ = false;
  read_at_ = context_.clock.now();
}

void StatusSweep::tick() {
  if (timer_ == 0) sweep_all();
}

bool StatusSweep::take_unread() {
  const Millis passed = context_.clock.now() - read_at_;
  if (context_.identity->adopting || passed < (unread_ ? kReadAgainMs : kReadAnywayMs)) return false;
  unread_ = false;
  read_at_ = context_.clock.now();
  return true;
}

bool StatusSweep::is_placed(const std::string& node, const std::string& key) const {
  const PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr) return false;
  const Binding* binding = state_.find(entry->pod->uid());
  return binding != nullptr && binding->row.phase != Phase::none && binding->row.node == node;
}

std::unordered_set<std::size_t> StatusSweep::entries_of(const std::string& node) const {
  std::unordered_set<std::size_t> entries;
  const std::string prefix = node + "/";
  for (auto at = state_.releases.lower_bound(prefix); at != state_.releases.end() && at->first.starts_with(prefix);
       ++at) {
    entries.insert(hash_of(at->first));
  }
  return entries;
}

StatusSweep::Names::iterator StatusSweep::erase(Found& found, Names::iterator at) {
  found.name_bytes -= at->first.size() + kOverheadBytes;
  return found.names.erase(at);
}

void StatusSweep::sweep_all() {
  timer_ = 0;
  if (!context_.mirror.barrier().is_synced() || context_.identity->adopting) return;
  budget_ = kClearedAtOnce;
  for (auto& [node, found] : found_) sweep(node, found);
  std::erase_if(found_, [](const auto& each) { return each.second.names.empty() && !each.second.is_beyond; });
  if (budget_ == 0) {
    timer_ = context_.timers.at(context_.clock.now() + kGoOnMs, [this] { sweep_all(); });
  }
}

void StatusSweep::sweep(const std::string& node, Found& found) {
  std::unordered_set<std::size_t> entries = entries_of(node);
  std::size_t count = 0, bytes = 0;
  for (auto at = found.names.begin(); at != found.names.end();) {
    auto& [key, kept] = *at;
    if (is_placed(node, key)) {
      at = erase(found, at);
      continue;
    }
    // Each entry explains one status.
    const bool is_explained = kept.slot != 0 && entries.erase(kept.slot) > 0;
    count += !is_explained;
    if (!is_explained) bytes += kept.bytes;
    const bool is_due = found.is_beyond || context_.clock.now() - kept.since >= kGraceMs;
    if (is_explained || !is_due || budget_ == 0) {
      ++at;
      continue;
    }
    --budget_;
    Message empty;
    empty.topic = context_.topics.node_pod(node, key);
    empty.retain = true;
    context_.turn.send(std::move(empty));
    at = erase(found, at);
  }
  judge(node, found, count, bytes);
}

void StatusSweep::judge(const std::string& node, Found& found, std::size_t count, std::size_t bytes) {
  const NodeLimits& limits = context_.options.node_limits;
  const Millis now = context_.clock.now();
  if (found.has_more || count > limits.statuses || bytes > limits.status_bytes) {
    const bool by_bytes = bytes > limits.status_bytes;
    const std::size_t limit = by_bytes ? limits.status_bytes : limits.statuses;
    quarantine_(node, excess_text("it left statuses at the broker that no slot explains",
                                  by_bytes ? "status_bytes" : "statuses", std::to_string(limit)));
    found.is_beyond = true;
    found.was_read = false;
    found.calm_since = now;
  }
  // Those that are explained stay for as long as what explains them.
  if (count == 0 && std::exchange(found.has_more, false)) unread_ = true;
  if (!found.is_beyond || count > 0 || now - found.calm_since < kCalmMs) return;
  found.calm_since = now;
  if (!std::exchange(found.was_read, true)) {
    unread_ = true;
    return;
  }
  found.is_beyond = false;
  quarantine_(node, {});
}

}  // namespace berth
