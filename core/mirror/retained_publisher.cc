#include "core/mirror/retained_publisher.h"

namespace berth {

namespace {

// The status of a pod that is bound in less than a second is published once, whenever in a second that began.
constexpr int kTicksOfPassing = 2;

std::string text_of(const Json& value) { return value.dump(); }

// The next one, round robin: an object that changes often holds up no other.
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

// Mirrors and statuses alternate: neither waits for all of the other.
void RetainedPublisher::publish(const Contents& contents, std::size_t capacity, const std::function<bool()>& enough) {
  while (pending() > 0 && capacity > 0 && !enough()) {
    mirrors_turn_ = !mirrors_.empty() && (dirty_.empty() || !mirrors_turn_);
    const bool sent = mirrors_turn_ ? publish_mirror(contents, behind(mirrors_, last_mirror_))
                                    : publish_status(contents, behind(dirty_, last_shown_));
    if (sent) --capacity;
  }
}

bool RetainedPublisher::publish_status(const Contents& contents, Named::iterator at) {
  const auto mirror = mirrors_.find(*at);
  if (mirror != mirrors_.end() && contents.manifest(at->first, at->second)) return publish_mirror(contents, mirror);
  const auto marked = std::move(dirty_.extract(at).value());
  const auto& [kind, key] = marked;
  last_shown_ = marked;
  if (contents.is_passing(kind, key) && passing_[marked] < kTicksOfPassing) return false;
  passing_.erase(marked);
  Message message;
  message.topic = topics_.status(kind, key);
  message.qos = 0;  // what is lost with the link is published again at the next connect
  message.retain = true;
  const Json status = contents.status(kind, key);
  if (!status.is_null()) message.payload = status.dump();
  turn_.send(std::move(message));
  return true;
}

bool RetainedPublisher::publish_mirror(const Contents& contents, Named::iterator at) {
  last_mirror_ = *at;
  const auto& [kind, key] = last_mirror_;
  std::optional<std::string> manifest = contents.manifest(kind, key);
  if (const auto status = dirty_.find(last_mirror_); !manifest && status != dirty_.end()) {
    return publish_status(contents, status);
  }
  Message message;
  message.topic = topics_.desired(kind, key);
  message.payload = std::move(manifest).value_or("");
  message.retain = true;
  message.correlation = mirror_mark_;
  turn_.send(std::move(message));
  contents.mirrored(kind, key);
  mirrors_.erase(at);
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
      // A pod that stays pending for one reason is published once, and counted here.
      ++last.count;
      last.wall = event.wall;
      return;
    }
  }
  const std::string& pod = event.pod;
  const std::size_t slash = pod.find('/');
  Members said{{"name", text_of(pod.substr(slash + 1))}, {"reason", text_of(event.reason.get())}};
  if (slash == 0) said.emplace_back("kind", text_of("Node"));
  if (event.type != "Normal") said.emplace_back("type", text_of(event.type.get()));
  said.emplace_back(node.empty() ? "message" : "node", text_of(node.empty() ? event.message : node));
  said.emplace_back("time", text_of(std::to_string(event.wall)));
  Message envelope;
  envelope.topic = topics_.events(slash == 0 ? "default" : pod.substr(0, slash));
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
