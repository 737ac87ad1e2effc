#include "core/placement/send_window.h"

#include <utility>

#include "core/check.h"

namespace berth {

void SendWindow::enter(const Row& row) {
  ++in_flight_[row.node];
  ++all_in_flight_;
}

void SendWindow::leave(const Row& row) {
  const auto found = in_flight_.find(row.node);
  CHECK(found != in_flight_.end());
  if (--found->second == 0) in_flight_.erase(found);
  --all_in_flight_;
  answered_.insert(row.node);
}

bool SendWindow::is_full(const Nodes& nodes) const {
  if (all_in_flight_ < limits_.fleet) return false;
  std::size_t answerable = 0;
  for (const auto& [node, rows] : in_flight_) {
    const auto device = nodes.all().find(node);
    if (device != nodes.all().end() && device->second.reachable) answerable += rows;
  }
  return answerable >= limits_.fleet;
}

bool SendWindow::is_busy(const std::string& node) const {
  const auto found = in_flight_.find(node);
  return found != in_flight_.end() && found->second >= limits_.node;
}

void SendWindow::defer(const std::string& node, const std::string& uid, const StillWaits& still_waits) {
  std::deque<std::string>& waiting = deferred_[node];
  std::erase_if(waiting, [&](std::string_view other) { return other == uid || !still_waits(node, other); });
  waiting.push_back(uid);
}

std::map<std::string, std::deque<std::string>> SendWindow::take_deferred() { return std::exchange(deferred_, {}); }

std::set<std::string> SendWindow::take_answered() { return std::exchange(answered_, {}); }

std::string SendWindow::next_deferred(const std::string& node) {
  const auto waiting = deferred_.find(node);
  if (waiting == deferred_.end() || is_busy(node)) return {};
  std::string uid = std::move(waiting->second.front());
  waiting->second.pop_front();
  if (waiting->second.empty()) deferred_.erase(waiting);
  return uid;
}

}  // namespace berth
