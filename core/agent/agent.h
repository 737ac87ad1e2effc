// Agent: the device side of the handshake, a state machine over Store and Runtime (rules N0-N5, P10 of
// core/handshake/rules.md).
// Owns nothing that sleeps: the host feeds messages, link changes and due timers, and ends each turn.
// agent.cc starts, sweeps and reports; agent_slots.cc carries requests and the runtime's words out.
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
#include "core/api/objects.h"
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

class Agent final : public Transport::Handler, public Runtime::Handler {
 public:
  static constexpr std::size_t kMaxSlots = 512;
  static constexpr std::size_t kMaxManifestBytes = 56 * 1024;  // so that one slot always fits a page of Slots
  static constexpr std::size_t kMaxStatusBytes = 16 * 1024;    // of one workload, as the runtime observes it
  static constexpr Millis kDefaultGraceMs = 30'000;            // of a workload whose manifest cannot be read any more

  // Everything given outlives the agent. `seed` must come from a true source of randomness on a device.
  Agent(AgentConfig config, const Clock& clock, Transport& transport, Store& store, Runtime& runtime, Timers& timers,
        Log& log, std::uint64_t seed);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Reads the store, runs N0 (first boot of a store: everything tagged is stopped before any answer) or the start-up
  // sweep, resumes slots, and ends its turn. Called once, before the transport connects. An error means that the store
  // cannot be read (it names table and key) or written; the program must end.
  Status start();
  // Ends the turn: commit, then messages and runtime effects. An error: the program must end and start anew.
  Status finish_turn() { return turn_.finish(); }

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

  // The last will to give to the transport whenever it connects: presence offline, of the session that is coming (link
  // down) or present (link up).
  Message will() const;
  // Presence offline, on a clean shutdown; workloads keep running. The turn must be finished after it.
  void say_goodbye();

  // False while what no slot names is being swept: until then nothing is answered (N0).
  bool is_ready() const { return started_ && sweeping_.empty(); }
  // For status, tests and the simulator's invariants.
  const NodeState& state() const { return state_; }

 private:
  // Where an answer goes that leaves later than the turn of its request.
  struct Asker {
    std::string gateway;
    GatewayId id;
    Epoch epoch;
  };
  // What belongs to a slot and is not durable.
  struct Live {
    std::string key;  // "<namespace>/<name>"
    Demand demand;
    Millis grace_ms = kDefaultGraceMs;
    std::string status;           // as the runtime last observed it, JSON text
    std::optional<Asker> asker;   // of PreBind
    std::vector<Asker> releases;  // Release requests to be answered when the stop is over
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
  Speaker speaker() const { return {state_.incarnation, config_.boot_id, session_}; }
  void save_session();

  // agent_slots.cc: requests and the runtime's words, carried out
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
  void launch(const Tag& tag, std::optional<Asker> asker);
  void stop(const Tag& tag);
  void arm_promise(const std::string& uid);
  void end_promise(const Tag& tag);
  void answer(const Asker& to, AnswerType type, const std::string& uid, const std::string& reason);
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
  std::optional<Live> admitted_;             // what admission read of the request in hand
  std::set<Tag> sweeping_;                   // being stopped because no slot names it
  std::set<std::string> waiting_to_resume_;  // pods of whom another epoch is still swept
  std::set<std::string> unsaid_;             // pods whose retained status must be cleared when the link is up
  Listing listing_;
  std::uint64_t session_ = 0;
  std::uint64_t state_sequence_ = 0;
  std::uint64_t heartbeat_sequence_ = 0;
  Timers::Id heartbeat_ = 0;
  bool started_ = false;
  bool link_up_ = false;
};

}  // namespace berth
