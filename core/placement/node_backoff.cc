#include "core/placement/node_backoff.h"

#include <algorithm>

namespace berth {

NodeBackoff::Failing& NodeBackoff::of(const std::string& node, const std::string& incarnation) {
  Failing& failing = failing_[node];
  if (failing.incarnation != incarnation) failing = Failing();
  failing.incarnation = incarnation;
  return failing;
}

void NodeBackoff::fail(Failing& failing, const std::string& why, Millis now) const {
  failing.asked.clear();
  if (now < failing.until) return;
  failing.pause = failing.failures == 0 ? limits_.first : std::min(failing.pause * 2, limits_.max);
  ++failing.failures;
  failing.until = now + failing.pause;
  failing.why = why;
  failing.rejected.clear();
}

void NodeBackoff::note_asked(const std::string& node, std::string_view uid, Millis now) {
  const auto found = failing_.find(node);
  if (found != failing_.end() && found->second.failures > 0 && now >= found->second.until) found->second.asked = uid;
}

void NodeBackoff::note_unanswered(const std::string& node, const std::string& incarnation, const std::string& why,
                                  Millis now) {
  fail(of(node, incarnation), why, now);
}

void NodeBackoff::note_rejected(const std::string& node, const std::string& incarnation, std::string_view uid,
                                Millis now) {
  Failing& failing = of(node, incarnation);
  failing.rejected.emplace(uid);
  if (failing.failures > 0 || failing.rejected.size() >= kRejections) {
    fail(failing, "rejected every pod it was asked to take", now);
  }
}

void NodeBackoff::note_ended(const std::string& node, std::string_view uid) {
  const auto found = failing_.find(node);
  if (found != failing_.end() && found->second.asked == uid) found->second.asked.clear();
}

void NodeBackoff::note_incarnation(const std::string& node, const std::string& incarnation) {
  const auto found = failing_.find(node);
  if (found != failing_.end() && found->second.incarnation != incarnation) failing_.erase(found);
}

bool NodeBackoff::is_passed_over(const std::string& node, Millis now) const {
  const auto found = failing_.find(node);
  if (found == failing_.end() || found->second.failures == 0) return false;
  return now < found->second.until || !found->second.asked.empty();
}

std::string NodeBackoff::why(const std::string& node) const {
  const auto found = failing_.find(node);
  if (found == failing_.end() || found->second.failures == 0) return {};
  return found->second.why + "; passed over for " + std::to_string((found->second.pause + 999) / 1000) + " s";
}

std::string NodeBackoff::why(const std::string& node, Millis now) const {
  const auto found = failing_.find(node);
  if (found == failing_.end() || found->second.failures == 0) return {};
  if (now >= found->second.until) return found->second.why + "; passed over until it has answered for one pod";
  const Millis left = found->second.until - now;
  return found->second.why + "; passed over for " + std::to_string((left + 999) / 1000) + " s more";
}

std::vector<std::string> NodeBackoff::failing() const {
  std::vector<std::string> names;
  for (const auto& [node, failing] : failing_) {
    if (failing.failures > 0) names.push_back(node);
  }
  return names;
}

}  // namespace berth
