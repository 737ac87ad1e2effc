// Loopback: an in-memory MQTT broker for tests and the simulator, on virtual time, with faults injected by a policy.
//
// A message crosses two legs: from its sender to the broker, and from the broker to each receiver. Each leg preserves
// the order, as a TCP connection does, unless the policy reorders a message. All work happens in Timers::run_due(), so
// a run depends on the seed alone.
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
  std::string_view from;  // client id; empty: the broker (retained messages)
  std::string_view to;    // client id; empty: the broker (publish or will)
  const Message& message;
  bool will = false;
};

struct Fate {
  int copies = 1;          // 0 = lost
  Millis delay = 0;        // of the first copy
  Millis copy_delay = 0;   // between one copy and the next
  bool overtakes = false;  // exempt from the order of its leg
};

class LoopbackBroker {
 public:
  using Policy = std::function<Fate(const Leg& leg, Random& random)>;
  struct Kept {
    Message message;
    std::optional<Millis> expires;
  };
  using RetainedSet = std::map<std::string, Kept>;  // by topic

  static constexpr std::size_t kPayloadMax = 64 * 1024;
  static constexpr std::size_t kQueuedMax = 10'000;       // messages queued for one disconnected session
  static constexpr std::size_t kRetainedMax = 100'000;    // topics
  static constexpr std::size_t kInFlightMax = 1'000'000;  // messages on all legs

  struct Counts {
    std::uint64_t published = 0;  // accepted from senders
    std::uint64_t delivered = 0;  // passed to handlers
    std::uint64_t lost = 0;       // by the policy, by a lost session, by expiry
    std::uint64_t refused = 0;    // because of one of the limits above
  };

  // Both must outlive the broker, and the broker its clients. Without a policy every message arrives once, immediately.
  LoopbackBroker(const Clock& clock, Timers& timers, std::uint64_t seed);
  ~LoopbackBroker();
  LoopbackBroker(const LoopbackBroker&) = delete;
  LoopbackBroker& operator=(const LoopbackBroker&) = delete;

  void set_policy(Policy policy) { policy_ = std::move(policy); }
  void wipe_retained() { retained_.clear(); }
  // Truncates the queue of every disconnected session to `keep` messages, as a broker's queue limit would.
  void truncate_queues(std::size_t keep);
  // Kills and restarts the broker: sessions and messages in flight are lost, and no will is sent. Clients that were up
  // see the link go down, and up again after `downtime`. `retained`: what its persistence has; none: it has none.
  void restart(Millis downtime, RetainedSet retained = {});
  const RetainedSet& retained_set() const { return retained_; }

  // Topic -> payload, as a new subscriber would get it; expired messages may still be listed.
  std::map<std::string, std::string> retained() const;
  const Counts& counts() const { return counts_; }

 private:
  friend class LoopbackClient;
  struct Subscription {
    int qos = 0;
    SubscribeOptions options;
  };
  struct Session {
    LoopbackClient* client = nullptr;  // while connected
    std::uint64_t number = 0;          // of the current connection; 0 = none yet
    bool persistent = false;
    std::set<std::string> filters;
    std::deque<Kept> waiting;  // of a persistent session while disconnected
    std::optional<Message> will;
    Millis last_to_broker = 0, last_from_broker = 0;  // last arrival on each leg, to preserve the order
  };

  void connect(LoopbackClient& client);
  // `clean`: no will. `notify`: call the handler.
  void disconnect(LoopbackClient& client, bool clean, bool notify);
  void subscribe(const std::string& id, const std::string& filter, Subscription subscription);
  // `slot` is held until the message has reached the broker or is lost.
  void publish(const std::string& from, Message message, bool will, std::shared_ptr<void> slot = nullptr);
  void route(const std::string& from, const Message& message, const std::optional<Millis>& expires);
  void deliver(const std::string& from, const std::string& to, Kept kept);
  void arrive(const std::string& to, std::uint64_t session_number, Kept kept);
  // Asks the policy and runs `arrival` once per delivered copy, in the order of the leg.
  void travel(const Leg& leg, Millis& last_arrival, std::function<void()> arrival);
  void forget_filters(const std::string& id, Session& session);

  const Clock& clock_;
  Timers& timers_;
  Random random_;
  Policy policy_;
  std::map<std::string, Session> sessions_;  // by client id
  RetainedSet retained_;
  using Subscribers = std::map<std::string, Subscription>;  // by client id
  std::map<std::string, Subscribers> exact_;                // by filter, filters without wildcards
  std::map<std::string, Subscribers> wildcard_;             // by filter, filters with wildcards
  std::uint64_t connections_ = 0;
  Millis up_at_ = 0;              // down until then
  std::uint64_t generation_ = 0;  // number of broker starts; messages in flight of an earlier one are lost
  std::size_t in_flight_ = 0;
  Counts counts_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // tells timers whether the broker still exists
};

// One program's connection. A second client with the same id takes over the session, as in MQTT.
class LoopbackClient final : public Transport {
 public:
  // `persistent`: the broker keeps subscriptions and QoS 1 messages while the client is disconnected.
  LoopbackClient(LoopbackBroker& broker, std::string id, bool persistent = false);
  ~LoopbackClient() override;  // acts like a killed process: the will is sent
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  void set_handler(Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return up_; }
  void send(const Message& message) override;
  std::size_t send_window() const override;
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

  // From now on the link holds at most `outstanding_max` messages that have not reached the broker; more are refused.
  // The last `window` of them are reserved for retained messages, and send_window() is `window` less the outstanding
  // ones.
  void set_send_window(std::size_t window, std::size_t outstanding_max);
  // Takes effect with the next connect().
  void set_will(Message will) { will_ = std::move(will); }
  // Called after every call of the handler, to end the program's turn. It may destroy the client.
  void set_on_turn(std::function<void()> on_turn);
  // The link comes up in a later timer, once the broker is up; does nothing if the link is up.
  void connect();
  // Closes the link at once, without the will. It stays down until connect().
  void disconnect();
  // The network drops the connection: like disconnect(), but the broker sends the will.
  void drop();
  const std::string& id() const { return id_; }

 private:
  friend class LoopbackBroker;
  void receive(const Message& message);
  void set_up(bool up);
  // A slot of the send window, freed when the last copy of the pointer is destroyed.
  std::shared_ptr<void> take_slot();
  void free_slot();
  void after_turn(const std::weak_ptr<int>& alive);

  LoopbackBroker& broker_;
  const std::string id_;
  const bool persistent_;
  Handler* handler_ = nullptr;
  std::shared_ptr<const std::function<void()>> on_turn_;
  std::optional<Message> will_;
  bool up_ = false;
  bool should_be_up_ = false;                     // connect() was called after the last disconnect()
  std::size_t window_ = 0, outstanding_max_ = 0;  // 0: unlimited
  std::size_t outstanding_ = 0;
  bool was_full_ = false;
  std::shared_ptr<int> link_;  // of the current connection: slots of an earlier one no longer count
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace berth
