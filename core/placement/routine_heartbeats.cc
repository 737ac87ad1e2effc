#include "core/placement/routine_heartbeats.h"

#include <algorithm>

namespace berth {

namespace {

bool skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// As heartbeat_payload() writes it (core/agent/reports.cc). The sequence matters to answers alone.
bool is_repeated(const DeviceNode& device, std::string_view text) {
  if (!skip(text, R"({"incarnation":")") || !skip(text, device.incarnation)) return false;
  if (!skip(text, R"(","sequence":")")) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  text.remove_prefix(static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()));
  if (device.routine.at.is_zero()) return text == R"("})";
  if (!skip(text, R"(","at":")") || !text.ends_with(R"("})")) return false;
  const Result<Epoch> at = parse_epoch(text.substr(0, text.size() - 2));
  return at && *at == device.routine.at;
}

}  // namespace

bool RoutineHeartbeats::take(std::string_view node, std::string_view payload) {
  DeviceNode* device = context_.nodes.find(node);
  const bool is_due = device != nullptr && device->routine.is_known && device->reachable && device->facts_current &&
                      device->asks_for_answers;
  if (!is_due || !is_repeated(*device, payload)) return false;
  device->last_heard = device->routine.heard_at = context_.clock.now();
  return true;
}

void RoutineHeartbeats::begin(const std::string& node, const Json& heartbeat) {
  DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr) return;
  if (heartbeat.string_at("incarnation") != device->incarnation) return;
  const std::string text = heartbeat.string_at("at");
  const Result<Epoch> at = text.empty() ? Epoch{} : parse_epoch(text);
  if (at && runs_.has_noted(node, device->incarnation, *at)) device->routine = {.is_known = true, .at = *at};
}

}  // namespace berth
