#include "core/scheduler/board.h"

namespace berth {

bool Board::publish_marked(const std::function<Json(Kind, const std::string&)>& render,
                           const std::function<bool(Kind, const std::string&)>& is_passing,
                           const std::function<bool()>& enough) {
  while (!dirty_.empty() && !enough()) {
    auto next = dirty_.upper_bound(last_shown_);
    if (next == dirty_.end()) next = dirty_.begin();
    last_shown_ = *next;
    const auto marked = std::move(dirty_.extract(next).value());
    const auto& [kind, key] = marked;
    if (is_passing(kind, key)) {
      passing_.insert(marked);
      continue;
    }
    passing_.erase(marked);
    Message message;
    message.topic = topics_.status(kind, key);
    message.qos = 0;  // what a lost link swallows is published again with the next one, as is all of it
    message.retain = true;
    const Json status = render(kind, key);
    if (!status.is_null()) message.payload = status.dump();
    turn_.send(std::move(message));
  }
  std::erase_if(gone_, [this](const auto& gone) {
    if (dirty_.contains(gone)) return false;
    send_mirror(gone.first, gone.second, {});
    return true;
  });
  return dirty_.empty();
}

void Board::mirror(Kind kind, const std::string& key, std::optional<std::string> manifest) {
  if (!manifest) {
    gone_.insert({kind, key});
    return mark(kind, key);
  }
  gone_.erase({kind, key});
  send_mirror(kind, key, std::move(*manifest));
}

void Board::send_mirror(Kind kind, const std::string& key, std::string payload) {
  Message message;
  message.topic = topics_.desired(kind, key);
  message.payload = std::move(payload);
  message.retain = true;
  message.correlation = mirror_mark_;
  turn_.send(std::move(message));
}

void Board::event(const std::string& pod_key, std::string type, std::string reason, std::string text) {
  const Millis wall = clock_.wall();
  if (const auto found = last_event_.find(pod_key); found != last_event_.end()) {
    PodEventRecord& last = events_[found->second - forgotten_];
    if (last.reason == reason && last.message == text) {
      // A pod that stays pending for one reason is told of once to the radio, and counted here.
      ++last.count;
      last.wall = wall;
      return;
    }
  }
  Json payload = Json::object();
  if (type != "Normal") payload.set("type", type);
  payload.set("reason", reason);
  payload.set("message", text);
  payload.set("time", std::to_string(wall));
  events_.push_back({pod_key, std::move(type), std::move(reason), std::move(text), wall, 1});
  last_event_[pod_key] = forgotten_ + events_.size() - 1;
  if (events_.size() > kMaxEvents) {
    const auto oldest = last_event_.find(events_.front().pod);
    if (oldest->second == forgotten_) last_event_.erase(oldest);
    events_.pop_front();
    ++forgotten_;
  }

  Message message;
  message.topic = topics_.event(pod_key);
  message.payload = payload.dump();
  message.qos = 0;
  turn_.send(std::move(message));
}

std::vector<PodEventRecord> Board::events_of(const std::string& pod_key) const {
  std::vector<PodEventRecord> found;
  for (const PodEventRecord& event : events_) {
    if (event.pod == pod_key) found.push_back(event);
  }
  return found;
}

}  // namespace berth
