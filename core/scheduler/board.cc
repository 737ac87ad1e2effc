#include "core/scheduler/board.h"

namespace berth {

namespace {

// One that is bound in less than a second is told of once, whenever in a second it began.
constexpr int kTicksOfPassing = 2;

std::string text_of(const Json& value) { return value.dump(); }

}  // namespace

Board::Board(Turn& turn, const Topics& topics, const Clock& clock)
    : turn_(turn),
      topics_(topics),
      clock_(clock),
      events_out_(turn, [](const std::vector<Members>& events) { return lists_of(events, {"reason", "time"}); }) {}

bool Board::publish_marked(const std::function<Json(Kind, const std::string&)>& render,
                           const std::function<bool(Kind, const std::string&)>& is_passing,
                           const std::function<bool()>& enough) {
  while (!dirty_.empty() && !enough()) {
    auto next = dirty_.upper_bound(last_shown_);
    if (next == dirty_.end()) next = dirty_.begin();
    last_shown_ = *next;
    const auto marked = std::move(dirty_.extract(next).value());
    const auto& [kind, key] = marked;
    if (is_passing(kind, key) && passing_[marked] < kTicksOfPassing) continue;
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

void Board::tick() {
  for (auto& [waiting, ticks] : passing_) {
    if (++ticks >= kTicksOfPassing) dirty_.insert(waiting);
  }
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

void Board::event(PodEventRecord event, const std::string& node) {
  event.wall = clock_.wall();
  if (const auto found = last_event_.find(event.pod); found != last_event_.end()) {
    PodEventRecord& last = events_[found->second - forgotten_];
    if (last.reason == event.reason && last.message == event.message) {
      // A pod that stays pending for one reason is told of once to the radio, and counted here.
      ++last.count;
      last.wall = event.wall;
      return;
    }
  }
  const std::string& pod = event.pod;
  const std::size_t slash = pod.find('/');
  Members said{{"name", text_of(pod.substr(slash + 1))}, {"reason", text_of(event.reason.get())}};
  if (event.type != "Normal") said.emplace_back("type", text_of(event.type.get()));
  said.emplace_back(node.empty() ? "message" : "node", text_of(node.empty() ? event.message : node));
  said.emplace_back("time", text_of(std::to_string(event.wall)));
  Message envelope;
  envelope.topic = topics_.events(pod.substr(0, slash));
  envelope.qos = 0;
  events_out_.send(std::move(envelope), std::move(said));

  last_event_[event.pod] = forgotten_ + events_.size();
  events_.push_back(std::move(event));
  if (events_.size() > kMaxEvents) {
    const auto oldest = last_event_.find(events_.front().pod);
    if (oldest->second == forgotten_) last_event_.erase(oldest);
    events_.pop_front();
    ++forgotten_;
  }
}

std::vector<PodEventRecord> Board::events_of(const std::string& pod_key) const {
  std::vector<PodEventRecord> found;
  for (const PodEventRecord& event : events_) {
    if (event.pod == pod_key) found.push_back(event);
  }
  return found;
}

}  // namespace berth
