// Agent: the device side of the handshake, a state machine over Store and Runtime (core/handshake/rules.md N0-N5, P10).
// It never blocks: the host passes in messages, link changes and due timers, and ends each turn.
// agent.cc: start, sweep and reports; agent_slots.cc: requests and the runtime's notifications.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/listing.h"
#include "core/agent/records.h"
#include "core/agent/reports.h"
#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/cache/node_info.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/outbox.h"
#include "core/random.h"
#include "core/store.h"
#include "core/timers.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

struct Pod;

class Agent final : public Transport::Handler, public Runtime::Handler {
 public:
  static constexpr std::size_t kMaxSlots = 512;
  static constexpr std::size_t kMaxManifestBytes = 56 * 1024;  // so that one slot always fits a page of Slots
  static constexpr std::size_t kMaxStatusBytes = 16 * 1024;    // of one workload, as observed by the runtime
  static constexpr Millis kDefaultGraceMs = 30'000;            // of a workload whose manifest cannot be read

  // All references must outlive the agent. On a device, `seed` must come from a true random source.
  Agent(AgentConfig config, const Clock& clock, Transport& transport, Store& store, Runtime& runtime, Timers& timers,
        Log& log, std::uint64_t seed);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Reads the store, runs N0 (first boot of a store: everything tagged is stopped before any answer) or the start-up
  // sweep, resumes slots, and ends the turn. Called once, before the transport connects. An error means that the store
  // cannot be read (then it names table and key) or written; the program must exit.
  Status start();
  // Ends the turn: commit, then messages and runtime calls. After an error the program must be restarted.
  Status finish_turn() { return turn_.finish(); }

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

  // The MQTT will for the transport's next connection: presence offline, with the next session (link down) or the
  // current one (link up).
  Message will() const;
  // Publishes presence offline, on a clean shutdown; workloads keep running. The turn must be finished afterwards.
  void say_goodbye();

  // False while workloads without a slot are being stopped: until then no request is answered (N0).
  bool is_ready() const { return started_ && sweeping_.empty(); }
  // For status, tests and the simulator's invariants.
  const NodeState& state() const { return state_; }

 private:
  // The addressee of an answer that is sent after the turn of its request.
  struct ReplyTo {
    std::string gateway;
    GatewayId id;
    Epoch epoch;
  };
  // The volatile part of a slot.
  struct Live {
    std::string key;  // "<namespace>/<name>"
    Demand demand;
    Millis grace_ms = kDefaultGraceMs;
    std::string status;               // as last observed by the runtime, JSON text
    std::optional<ReplyTo> pre_bind;  // the PreBind to answer once prepared
    std::vector<ReplyTo> releases;    // the Release requests to answer once stopped
    Timers::Id promise = 0;
  };

  // agent.cc: start, sweep, link, reports
  std::set<Tag> end_promises_of_another_boot(const std::string& boot_id);
  void sweep(const std::set<Tag>& ended);
  void swept();
  void resume(const std::string& uid);
  void announce();
  void report();  // state, and the status of every slot
  void beat();
  void publish_pod(const std::string& uid);
  void publish_clear(const std::string& key);
  AgentSession session() const { return {state_.incarnation, config_.boot_id, session_}; }
  void save_session();

  // agent_slots.cc: requests and the runtime's notifications
  void on_request(const Result<Request>& request);
  void carry_out(const Request& request);
  void save(const Request& request, const NodeDecision& decision, const std::vector<std::string>& dropped);
  void carry_out_event(const Request& request, SlotEvent event);
  Status admit_request(const Request& request);
  static Live live_of(const Pod& pod, const std::vector<BoundVolume>& volumes);
  Live read_manifest(const std::string& pod, const std::vector<BoundVolume>& volumes);
  void save_slot(const std::string& uid);
  void drop_slot(const std::string& uid, SlotEvent event);
  void forget_live(const std::string& uid);
  void undo_after_commit(const Tag& tag);
  void prepare(const Tag& tag);
  void launch(const Tag& tag, std::optional<ReplyTo> reply_to);
  void stop(const Tag& tag);
  void arm_promise(const std::string& uid);
  void end_promise(const Tag& tag);
  void answer(const ReplyTo& to, AnswerType type, const std::string& uid, const std::string& reason);
  void send_answer(const std::string& gateway, const Answer& answer);
  // The slot of this tag in this state, or null.
  Slot* find_slot(const Tag& tag, SlotState state);

  AgentConfig config_;
  const Clock& clock_;
  Transport& transport_;
  Runtime& runtime_;
  Timers& timers_;
  Log& log_;
  Random random_;
  Topics topics_;
  Offer offer_;
  Turn turn_;
  Outbox<Answer> answers_;
  NodeState state_;
  std::map<std::string, Live> live_;         // by pod uid, as state_.slots
  std::optional<Live> admitted_;             // decoded by admission from the current request
  std::set<Tag> sweeping_;                   // being stopped because no slot has it
  std::set<std::string> waiting_to_resume_;  // pods of which another epoch is still being stopped
  std::set<std::string> pending_clears_;     // pods whose retained status must be cleared when the link is up
  Listing listing_;
  std::uint64_t session_ = 0;
  std::uint64_t state_sequence_ = 0;
  std::uint64_t heartbeat_sequence_ = 0;
  Timers::Id heartbeat_ = 0;
  bool started_ = false;
  bool link_up_ = false;
};

}  // namespace berth
