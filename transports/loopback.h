// Loopback: an MQTT broker in memory for tests and the simulator, on virtual time, with faults by a policy.
//
// A message crosses two legs: from its sender to the broker, and from the broker to each receiver. Each leg keeps its
// order, as a TCP connection does, unless the policy lets a message overtake. All work happens in Timers::run_due(),
// so a run is a function of the seed alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/clock.h"
#include "core/random.h"
#include "core/timers.h"
#include "core/transport.h"

namespace berth {

class LoopbackClient;

// One message on one leg, for the policy to judge.
struct Leg {
  std::string_view from;  // client id; empty: the broker (retained set)
  std::string_view to;    // client id; empty: the broker (publish or will)
  const Message& message;
  bool will = false;
};

struct Fate {
  int copies = 1;          // 0 = lost
  Millis delay = 0;        // of the first copy
  Millis copy_delay = 0;   // of each further copy after the one before
  bool overtakes = false;  // leaves the order of its leg
};

class LoopbackBroker {
 public:
  using Policy = std::function<Fate(const Leg& leg, Random& random)>;

  static constexpr std::size_t kPayloadMax = 64 * 1024;
  static constexpr std::size_t kQueuedMax = 10'000;       // messages held for one absent session
  static constexpr std::size_t kRetainedMax = 100'000;    // topics
  static constexpr std::size_t kInFlightMax = 1'000'000;  // messages on all legs

  struct Counts {
    std::uint64_t published = 0;  // accepted from senders
    std::uint64_t delivered = 0;  // given to handlers
    std::uint64_t lost = 0;       // by the policy, by a lost session, by expiry
    std::uint64_t refused = 0;    // over one of the limits above
  };

  // Both outlive the broker, and the broker outlives its clients. Without a policy every message arrives once, at once.
  LoopbackBroker(const Clock& clock, Timers& timers, std::uint64_t seed);
  ~LoopbackBroker();
  LoopbackBroker(const LoopbackBroker&) = delete;
  LoopbackBroker& operator=(const LoopbackBroker&) = delete;

  void set_policy(Policy policy) { policy_ = std::move(policy); }
  void wipe_retained() { retained_.clear(); }
  // Every absent session keeps no more than this many of the messages that wait for it: the broker's queue limit.
  void truncate_queues(std::size_t keep);
  // A broker killed and started again, without a store: retained set, sessions and all in flight are gone, no will is
  // sent. Clients that were up see the link go down, and up again after `downtime`.
  void restart(Millis downtime);

  // Topic -> message, as a new subscriber would get it; expired ones may still be listed.
  std::map<std::string, std::string> retained() const;
  const Counts& counts() const { return counts_; }

 private:
  friend class LoopbackClient;
  struct Kept {
    Message message;
    std::optional<Millis> expires;
  };
  struct Subscription {
    int qos = 0;
    SubscribeOptions options;
  };
  struct Session {
    LoopbackClient* client = nullptr;  // while connected
    std::uint64_t number = 0;          // of the present connection; 0 = none yet
    bool persistent = false;
    std::set<std::string> filters;
    std::deque<Kept> waiting;  // persistent and absent
    std::optional<Message> will;
    Millis last_to_broker = 0, last_from_broker = 0;  // arrivals, for the order of the legs
  };

  void connect(LoopbackClient& client);
  // `clean`: no will. `tell`: the handler hears of it.
  void disconnect(LoopbackClient& client, bool clean, bool tell);
  void subscribe(const std::string& id, const std::string& filter, Subscription subscription);
  // `place` is held until the message has come to the broker, or is lost.
  void publish(const std::string& from, Message message, bool will, std::shared_ptr<void> place = nullptr);
  void route(const std::string& from, const Message& message, std::optional<Millis> expires);
  void deliver(const std::string& from, const std::string& to, Kept kept);
  void arrive(const std::string& to, std::uint64_t session_number, Kept kept);
  // Asks the policy and runs `arrival` once per surviving copy, in the order of the leg.
  void travel(const Leg& leg, Millis& last_arrival, std::function<void()> arrival);
  void forget_filters(const std::string& id, Session& session);

  const Clock& clock_;
  Timers& timers_;
  Random random_;
  Policy policy_;
  std::map<std::string, Session> sessions_;                 // by client id
  std::map<std::string, Kept> retained_;                    // by topic
  using Subscribers = std::map<std::string, Subscription>;  // by client id
  std::map<std::string, Subscribers> exact_;                // by filter without wildcard
  std::map<std::string, Subscribers> wildcard_;             // likewise, with
  std::uint64_t connections_ = 0;
  Millis up_at_ = 0;              // down until then
  std::uint64_t generation_ = 0;  // broker starts; what is in flight ends with it
  std::size_t in_flight_ = 0;
  Counts counts_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // timers that outlive the broker find it gone
};

// One program's connection. Two with the same id take the session over from each other, as in MQTT.
class LoopbackClient final : public Transport {
 public:
  // `persistent`: the broker keeps subscriptions and QoS 1 messages while the client is away.
  LoopbackClient(LoopbackBroker& broker, std::string id, bool persistent = false);
  ~LoopbackClient() override;  // as a killed process: the will is sent
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  void set_handler(Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return up_; }
  void send(const Message& message) override;
  std::size_t send_window() const override;
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

  // From now on the link holds no more than `most` messages that have not come to the broker; the rest is refused. The
  // last `room` of these places are for what is retained, and send_window() is what is left of the first `room`.
  void set_send_window(std::size_t room, std::size_t most);
  // Counts from the next connect().
  void set_will(Message will) { will_ = std::move(will); }
  // Called after every call of the handler: the place to end the program's turn. It may destroy the client.
  void set_on_turn(std::function<void()> on_turn);
  // The link comes up in a later timer, once the broker is there; nothing when it is up.
  void connect();
  // Ends the link at once, without the will. It stays down until connect().
  void disconnect();
  // The network loses the connection: as disconnect(), and the broker sends the will.
  void drop();
  const std::string& id() const { return id_; }

 private:
  friend class LoopbackBroker;
  void hear(const Message& message);
  void set_up(bool up);
  // A place on the link, free again when the last copy of it is gone.
  std::shared_ptr<void> take_place();
  void free_place();
  void after_turn(const std::weak_ptr<int>& alive);

  LoopbackBroker& broker_;
  const std::string id_;
  const bool persistent_;
  Handler* handler_ = nullptr;
  std::shared_ptr<const std::function<void()>> on_turn_;
  std::optional<Message> will_;
  bool up_ = false;
  bool wanted_ = false;              // connect() was the last word
  std::size_t room_ = 0, most_ = 0;  // 0: without limit
  std::size_t outstanding_ = 0;
  bool was_full_ = false;
  std::shared_ptr<int> link_;  // of the present connection: places of an earlier one are nobody's
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace berth
