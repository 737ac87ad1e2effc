#include "transports/loopback.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "transports/topic_filter.h"

namespace berth {

LoopbackBroker::LoopbackBroker(const Clock& clock, Timers& timers, std::uint64_t seed)
    : clock_(clock), timers_(timers), random_(seed) {}

LoopbackBroker::~LoopbackBroker() = default;

void LoopbackBroker::restart(Millis downtime, RetainedSet retained) {
  ++generation_;
  in_flight_ = 0;
  up_at_ = clock_.now() + downtime;
  retained_ = std::move(retained);
  exact_.clear();
  wildcard_.clear();
  std::vector<std::pair<LoopbackClient*, std::weak_ptr<int>>> clients;
  for (auto& [id, session] : std::exchange(sessions_, {})) {
    if (session.client == nullptr) continue;
    session.client->up_ = false;
    clients.emplace_back(session.client, session.client->alive_);
  }
  for (auto& [client, mark] : clients) {
    if (mark.expired()) continue;
    if (client->should_be_up_) client->connect();
    client->set_up(false);
  }
}

void LoopbackBroker::truncate_queues(std::size_t keep) {
  for (auto& [id, session] : sessions_) {
    if (session.waiting.size() <= keep) continue;
    counts_.lost += session.waiting.size() - keep;
    session.waiting.resize(keep);
  }
}

std::map<std::string, std::string> LoopbackBroker::retained() const {
  std::map<std::string, std::string> topics;
  for (const auto& [topic, kept] : retained_) topics.emplace(topic, kept.message.payload);
  return topics;
}

void LoopbackBroker::connect(LoopbackClient& client) {
  Session& session = sessions_[client.id_];
  // Session takeover: the older connection is closed and its will is sent, as mosquitto does.
  if (session.client != nullptr) disconnect(*session.client, false, true);
  if (!client.persistent_) {
    forget_filters(client.id_, session);
    session.waiting.clear();
  }
  session.client = &client;
  session.number = ++connections_;
  session.persistent = client.persistent_;
  session.will = client.will_;
  const std::weak_ptr<int> mark = client.alive_;
  client.set_up(true);
  if (mark.expired() || !client.up_) return;
  for (Kept& kept : std::exchange(sessions_[client.id_].waiting, {})) deliver({}, client.id_, std::move(kept));
}

void LoopbackBroker::disconnect(LoopbackClient& client, bool clean, bool notify) {
  Session& session = sessions_[client.id_];
  if (session.client != &client) return;
  session.client = nullptr;
  if (!session.persistent) forget_filters(client.id_, session);
  if (auto will = std::exchange(session.will, std::nullopt); will && !clean) {
    publish(client.id_, std::move(*will), true);
  }
  if (notify) client.set_up(false);
}

void LoopbackBroker::forget_filters(const std::string& id, Session& session) {
  for (const std::string& filter : std::exchange(session.filters, {})) {
    auto& index = has_wildcard(filter) ? wildcard_ : exact_;
    const auto found = index.find(filter);
    found->second.erase(id);
    if (found->second.empty()) index.erase(found);
  }
}

void LoopbackBroker::subscribe(const std::string& id, const std::string& filter, Subscription subscription) {
  sessions_[id].filters.insert(filter);
  (has_wildcard(filter) ? wildcard_ : exact_)[filter][id] = subscription;
  std::vector<Kept> found;
  for (const auto& [topic, kept] : retained_) {
    if (!filter_matches(filter, topic)) continue;
    found.push_back(kept);
    found.back().message.qos = std::min(subscription.qos, kept.message.qos);
  }
  for (Kept& kept : found) deliver({}, id, std::move(kept));
}

void LoopbackBroker::publish(const std::string& from, Message message, bool will, std::shared_ptr<void> slot) {
  if (message.payload.size() > kPayloadMax || in_flight_ >= kInFlightMax) {
    ++counts_.refused;
    return;
  }
  ++counts_.published;
  std::optional<Millis> expires;
  if (message.expiry_s > 0) expires = clock_.now() + Millis{message.expiry_s} * 1000;
  const auto shared = std::make_shared<const Message>(std::move(message));
  const std::uint64_t connection = will ? 0 : sessions_[from].number;
  travel({from, {}, *shared, will}, sessions_[from].last_to_broker,
         [this, from, shared, expires, connection, slot = std::move(slot)] {
           // A new connection of a client ends the previous one, and its unread messages are lost (MQTT 5, 3.1.4.2).
           // Messages that are not retained arrive all the same: the handshake must tolerate late ones.
           const bool is_late = connection != 0 && sessions_[from].number != connection;
           if (is_late && shared->retain) {
             ++counts_.lost;
           } else {
             route(from, *shared, expires);
           }
         });
}

void LoopbackBroker::route(const std::string& from, const Message& message, const std::optional<Millis>& expires) {
  if (message.retain) {
    if (message.payload.empty()) {
      retained_.erase(message.topic);
    } else if (retained_.size() < kRetainedMax || retained_.contains(message.topic)) {
      retained_[message.topic] = {message, expires};
    } else {
      ++counts_.refused;
    }
  }
  // client id -> the highest options of its overlapping filters: it gets one copy
  std::map<std::string, Subscription> receivers;
  const auto add = [&receivers, &from](const Subscribers& subscribers) {
    for (const auto& [id, subscription] : subscribers) {
      if (subscription.options.no_local && id == from) continue;
      Subscription& granted = receivers.emplace(id, subscription).first->second;
      granted.qos = std::max(granted.qos, subscription.qos);
      granted.options.retain_as_published |= subscription.options.retain_as_published;
    }
  };
  if (const auto found = exact_.find(message.topic); found != exact_.end()) add(found->second);
  for (const auto& [filter, subscribers] : wildcard_) {
    if (filter_matches(filter, message.topic)) add(subscribers);
  }
  for (const auto& [id, granted] : receivers) {
    Kept kept{message, expires};
    kept.message.qos = std::min(message.qos, granted.qos);
    kept.message.retain = message.retain && granted.options.retain_as_published;
    deliver(from, id, std::move(kept));
  }
}

void LoopbackBroker::deliver(const std::string& from, const std::string& to, Kept kept) {
  if (in_flight_ >= kInFlightMax) {
    ++counts_.refused;
    return;
  }
  Session& session = sessions_[to];
  const auto shared = std::make_shared<const Kept>(std::move(kept));
  travel({from, to, shared->message}, session.last_from_broker,
         [this, to, number = session.number, shared] { arrive(to, number, *shared); });
}

void LoopbackBroker::travel(const Leg& leg, Millis& last_arrival, std::function<void()> arrival) {
  const Fate fate = policy_ ? policy_(leg, random_) : Fate{};
  if (fate.copies <= 0) ++counts_.lost;
  const auto shared = std::make_shared<std::function<void()>>(std::move(arrival));
  for (int copy = 0; copy < fate.copies; ++copy) {
    Millis at = clock_.now() + fate.delay + copy * fate.copy_delay;
    if (!fate.overtakes) at = last_arrival = std::max(at, last_arrival);
    ++in_flight_;
    timers_.at(at, [this, shared, generation = generation_, mark = std::weak_ptr<int>(alive_)] {
      if (mark.expired() || generation != generation_) return;
      --in_flight_;
      (*shared)();
    });
  }
}

void LoopbackBroker::arrive(const std::string& to, std::uint64_t session_number, Kept kept) {
  Session& session = sessions_[to];
  const bool same_link = session.client != nullptr && session.number == session_number;
  const bool survives = session.persistent && kept.message.qos > 0;
  const bool expired = kept.expires && *kept.expires <= clock_.now();
  if (expired || (!same_link && !survives)) {
    ++counts_.lost;
    return;
  }
  if (session.client == nullptr) {
    if (session.waiting.size() >= kQueuedMax) {
      ++counts_.refused;  // mosquitto drops the newest message silently
    } else {
      session.waiting.push_back(std::move(kept));
    }
    return;
  }
  // The receiver gets the remaining expiry interval (MQTT 5.0 §3.3.2.3.3).
  if (kept.expires) kept.message.expiry_s = static_cast<int>((*kept.expires - clock_.now() + 999) / 1000);
  ++counts_.delivered;
  session.client->receive(kept.message);
}

LoopbackClient::LoopbackClient(LoopbackBroker& broker, std::string id, bool persistent)
    : broker_(broker), id_(std::move(id)), persistent_(persistent) {}

LoopbackClient::~LoopbackClient() { broker_.disconnect(*this, false, false); }

void LoopbackClient::set_on_turn(std::function<void()> on_turn) {
  on_turn_ = on_turn ? std::make_shared<const std::function<void()>>(std::move(on_turn)) : nullptr;
}

void LoopbackClient::send(const Message& message) {
  if (!up_) return;
  if (outstanding_max_ == 0) return broker_.publish(id_, message, false);
  if (outstanding_ >= outstanding_max_ - (message.retain ? 0 : window_)) {
    ++broker_.counts_.refused;
    return;
  }
  broker_.publish(id_, message, false, take_slot());
}

std::size_t LoopbackClient::send_window() const {
  if (!up_) return 0;
  if (outstanding_max_ == 0) return Transport::send_window();
  return window_ - std::min(window_, outstanding_);
}

void LoopbackClient::set_send_window(std::size_t window, std::size_t outstanding_max) {
  window_ = window;
  outstanding_max_ = outstanding_max;
}

std::shared_ptr<void> LoopbackClient::take_slot() {
  ++outstanding_;
  was_full_ = was_full_ || send_window() == 0;
  return {nullptr, [this, link = std::weak_ptr<int>(link_)](void*) {
            if (!link.expired()) free_slot();
          }};
}

void LoopbackClient::free_slot() {
  --outstanding_;
  if (!was_full_ || outstanding_ > window_ / 2) return;
  was_full_ = false;
  // In a timer, since the sender or the broker is in the middle of its own turn.
  broker_.timers_.at(broker_.clock_.now(), [this, link = std::weak_ptr<int>(link_)] {
    if (link.expired()) return;
    const std::weak_ptr<int> mark = alive_;
    if (handler_ != nullptr) handler_->on_send_window();
    after_turn(mark);
  });
}

void LoopbackClient::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  if (up_) broker_.subscribe(id_, filter, {qos, options});
}

void LoopbackClient::connect() {
  should_be_up_ = true;
  if (up_) return;
  broker_.timers_.at(std::max(broker_.clock_.now(), broker_.up_at_), [this, mark = std::weak_ptr<int>(alive_)] {
    if (mark.expired() || !should_be_up_ || up_) return;
    if (broker_.clock_.now() < broker_.up_at_) return connect();
    broker_.connect(*this);
  });
}

void LoopbackClient::disconnect() {
  should_be_up_ = false;
  broker_.disconnect(*this, true, true);
}

void LoopbackClient::drop() {
  should_be_up_ = false;
  broker_.disconnect(*this, false, true);
}

void LoopbackClient::receive(const Message& message) {
  const std::weak_ptr<int> mark = alive_;
  if (handler_ != nullptr) handler_->on_message(message);
  after_turn(mark);
}

void LoopbackClient::set_up(bool up) {
  up_ = up;
  link_ = up ? std::make_shared<int>(0) : nullptr;
  outstanding_ = 0;
  was_full_ = false;
  const std::weak_ptr<int> mark = alive_;
  if (handler_ != nullptr) handler_->on_link(up);
  after_turn(mark);
}

void LoopbackClient::after_turn(const std::weak_ptr<int>& alive) {
  if (alive.expired() || !on_turn_) return;
  const auto on_turn = on_turn_;  // keeps the function alive: it may destroy the client
  (*on_turn)();
}

}  // namespace berth
