#include "core/mirror/retained_publisher.h"

namespace berth {

namespace {

// The status of a pod that is bound in less than a second is published once, whenever in a second that began.
constexpr int kTicksOfPassing = 2;

// The next one, round robin: an object that changes often holds up no other.
std::set<std::pair<Kind, std::string>>::iterator behind(const std::set<std::pair<Kind, std::string>>& named,
                                                        const std::pair<Kind, std::string>& last) {
  const auto next = named.upper_bound(last);
  return next == named.end() ? named.begin() : next;
}

}  // namespace

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

}  // namespace berth
