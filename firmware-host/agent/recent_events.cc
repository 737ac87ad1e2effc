#include "firmware-host/agent/recent_events.h"

#include <algorithm>

#include "core/json/members.h"
#include "firmware-host/agent/pod_state.h"

namespace berth {

namespace {

// Not within a character.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  text.resize(most);
  return text;
}

}  // namespace

bool RecentEvents::take_token(Millis now) {
  tokens_ =
      std::min<double>(kBurst, tokens_ + static_cast<double>(now - refilled_at_) / static_cast<double>(kRefillMs));
  refilled_at_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

bool RecentEvents::add(Millis now, bool is_warning, const std::string& reason, std::string message) {
  message = shortened(std::move(message), kMessageBytesMax);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const bool is_equal = events_[i].reason == reason && events_[i].message == message;
    if (is_equal && now - times_[i] < kRefillMs) return false;
  }
  if (!take_token(now)) return false;
  if (events_.size() == kMost) {
    events_.erase(events_.begin());
    times_.erase(times_.begin());
  }
  last_id_ = std::max(last_id_ + 1, now);
  events_.push_back({std::to_string(last_id_) + mark_, is_warning, reason, std::move(message)});
  times_.push_back(now);
  has_changed_ = true;
  return true;
}

Json events_json(const std::vector<PodEvent>& events) {
  Json list = Json::array();
  for (const PodEvent& event : events) {
    Json json = Json::object();
    json.set("id", event.id);
    if (event.is_warning) json.set("type", "Warning");
    json.set("reason", event.reason).set("message", event.message);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<PodEvent> read_events(const Json& list) {
  std::vector<PodEvent> events;
  if (!list.is_array()) return events;
  for (const Json& json : list.as_array()) {
    events.push_back({json.string_at("id"), json.string_at("type") == "Warning", json.string_at("reason"),
                      json.string_at("message")});
  }
  return events;
}

std::string with_events(const std::string& status, const std::vector<PodEvent>& events) {
  Result<Json> json = events.empty() ? Result<Json>(Json()) : Json::parse(status);
  if (!json || !json->is_object()) return status;
  std::vector<PodEvent> all = events;
  for (PodEvent& own : read_events(member(*json, "events"))) all.push_back(std::move(own));
  if (all.size() > RecentEvents::kMost) all.erase(all.begin(), all.end() - RecentEvents::kMost);
  json->set("events", events_json(all));
  std::string text = json->dump();
  return text.size() > PodState::kStatusBytes ? status : text;
}

}  // namespace berth
