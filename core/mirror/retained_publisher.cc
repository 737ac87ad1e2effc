#include "core/mirror/retained_publisher.h"

namespace berth {

namespace {

// One that is bound in less than a second is told of once, whenever in a second it began.
constexpr int kTicksOfPassing = 2;

std::string text_of(const Json& value) { return value.dump(); }

// The next in a circle: who is owed much holds up no other.
std::set<std::pair<Kind, std::string>>::iterator behind(const std::set<std::pair<Kind, std::string>>& named,
                                                        const std::pair<Kind, std::string>& last) {
  const auto next = named.upper_bound(last);
  return next == named.end() ? named.begin() : next;
}

}  // namespace

RetainedPublisher::RetainedPublisher(Turn& turn, const Topics& topics, const Clock& clock)
    : turn_(turn),
      topics_(topics),
      clock_(clock),
      events_out_(turn, [](const std::vector<Members>& events) { return lists_of(events, {"reason", "time"}); }) {}

// Mirrors and statuses in turn: neither waits for all of the other.
void RetainedPublisher::publish(const Words& words, std::size_t room, const std::function<bool()>& enough) {
  while (owed() > 0 && room > 0 && !enough()) {
    mirrors_turn_ = !mirrors_.empty() && (dirty_.empty() || !mirrors_turn_);
    const bool sent = mirrors_turn_ ? publish_mirror(words, behind(mirrors_, last_mirror_))
                                    : publish_status(words, behind(dirty_, last_shown_));
    if (sent) --room;
  }
}

bool RetainedPublisher::publish_status(const Words& words, Named::iterator owed) {
  const auto mirror = mirrors_.find(*owed);
  if (mirror != mirrors_.end() && words.manifest(owed->first, owed->second)) return publish_mirror(words, mirror);
  const auto marked = std::move(dirty_.extract(owed).value());
  const auto& [kind, key] = marked;
  last_shown_ = marked;
  if (words.is_passing(kind, key) && passing_[marked] < kTicksOfPassing) return false;
  passing_.erase(marked);
  Message message;
  message.topic = topics_.status(kind, key);
  message.qos = 0;  // what a lost link swallows is published again with the next one, as is all of it
  message.retain = true;
  const Json status = words.status(kind, key);
  if (!status.is_null()) message.payload = status.dump();
  turn_.send(std::move(message));
  return true;
}

bool RetainedPublisher::publish_mirror(const Words& words, Named::iterator owed) {
  last_mirror_ = *owed;
  const auto& [kind, key] = last_mirror_;
  std::optional<std::string> manifest = words.manifest(kind, key);
  if (const auto status = dirty_.find(last_mirror_); !manifest && status != dirty_.end()) {
    return publish_status(words, status);
  }
  Message message;
  message.topic = topics_.desired(kind, key);
  message.payload = std::move(manifest).value_or("");
  message.retain = true;
  message.correlation = mirror_mark_;
  turn_.send(std::move(message));
  words.mirrored(kind, key);
  mirrors_.erase(owed);
  return true;
}

void RetainedPublisher::tick() {
  for (auto& [waiting, ticks] : passing_) {
    if (++ticks >= kTicksOfPassing) dirty_.insert(waiting);
  }
}

void RetainedPublisher::event(PodEventRecord event, const std::string& node) {
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
    if (oldest != last_event_.end() && oldest->second == forgotten_) last_event_.erase(oldest);
    events_.pop_front();
    ++forgotten_;
  }
}

std::vector<PodEventRecord> RetainedPublisher::events_of(const std::string& pod_key) const {
  std::vector<PodEventRecord> found;
  for (const PodEventRecord& event : events_) {
    if (event.pod == pod_key) found.push_back(event);
  }
  return found;
}

}  // namespace berth
