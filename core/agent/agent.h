// Agent: the device side of the handshake, a state machine over Store and Runtime (core/handshake/rules.md N0-N10,
// P10). It never blocks: the host passes in messages, link changes and due timers, and ends each turn. Its parts own
// the state: SlotTable the slots and their records, MadeVolumes the directories below its pools, Promises their timers,
// Sweep the workloads without a slot, Answers what is sent to gateways, Reporter the session and what is published in
// it, Statuses those of the slots, RollbackWatch how far the store has come, Renewal the certificate, RefusedPods what
// may be taken later. agent.cc: start, sweep and reports; agent_slots.cc: requests and the runtime's notifications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/answers.h"
#include "core/agent/device_objects.h"
#include "core/agent/made_volumes.h"
#include "core/agent/promises.h"
#include "core/agent/records.h"
#include "core/agent/refused_pods.h"
#include "core/agent/renewal.h"
#include "core/agent/reporter.h"
#include "core/agent/reports.h"
#include "core/agent/rollback_watch.h"
#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/agent/slot_table.h"
#include "core/agent/statuses.h"
#include "core/agent/sweep.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/random.h"
#include "core/store.h"
#include "core/timers.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

class Agent final : public Transport::Handler, public Runtime::Handler {
 public:
  static constexpr std::size_t kMaxSlots = SlotTable::kMaxSlots;
  static constexpr std::size_t kMaxStatusBytes = 16 * 1024;           // kept of one workload
  static constexpr std::size_t kMaxRuntimeStatusBytes = 1024 * 1024;  // as observed by the runtime

  // All references must outlive the agent. On a device, `seed` must come from a true random source.
  Agent(AgentConfig config, const Clock& clock, Transport& transport, Store& store, Runtime& runtime, Timers& timers,
        Log& log, std::uint64_t seed);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Reads the store, runs N0 (first boot of a store, or of one that counts as lost: everything tagged is stopped before
  // any answer) or the start-up sweep, resumes slots, and ends the turn. Called once, before the transport connects. An
  // error means that the store cannot be read (then it names table and key) or written, or that the runtime cannot tell
  // what runs; the program must exit.
  Status start();
  // Ends the turn: commit, then messages and runtime calls. After an error the program must be restarted.
  Status finish_turn();

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

  // The MQTT will for the transport's next connection: presence offline, with the next session (link down) or the
  // current one (link up). It names the incarnation, so the transport connects once state() has one: a gateway refuses
  // presence of none, and would not hear of the end of that connection.
  Message will() const { return reporter_.will(); }
  // Publishes presence offline, on a clean shutdown; workloads keep running. Nothing without an incarnation. The turn
  // must be finished afterwards.
  void say_goodbye();

  // What the node is short of, with all that holds; published if it is news. The turn must be finished afterwards.
  void set_pressures(std::vector<NodePressure> pressures);

  // False while workloads without a slot are being stopped: until then no request is answered (N0). Nor before the
  // incarnation is made.
  bool is_ready() const { return started_ && sweep_.is_done() && lost_.empty() && !state().incarnation.empty(); }
  // It was told that its store is an older copy (N8), and has noted that durably. The turn has failed: the next start
  // sweeps everything.
  bool is_lost() const { return started_ && !lost_.empty() && !state().incarnation.empty(); }
  // For status, tests and the simulator's invariants.
  const NodeState& state() const { return slots_.state(); }

 private:
  DeviceIdentity identity() const { return {config_.fleet, config_.node, config_.machine_id, config_.hardware_serial}; }
  // agent.cc: start, sweep, link, reports
  std::set<Tag> end_promises_of_another_boot(const std::string& boot_id);
  // N7, N8: why nothing in this store counts; empty: it does.
  std::string find_loss(const AgentRecords& records);
  // Until all is swept the store stays as it is, but is noted as lost.
  void discard(const std::vector<Record>& records, const AgentRecords& read);
  void save_incarnation(AgentRecords records);
  void swept();
  void begin_incarnation();
  void resume(const std::string& uid);
  void announce();
  void on_own_status(const Message& message);
  void report();  // state, and the status of every slot

  // agent_slots.cc: requests and the runtime's notifications
  void on_request(Result<Request> request);
  void carry_out(const Request& request);
  // N13: what a PreBind lists and is not here is asked for, and nothing else follows from it.
  bool waits_for_configs(const Request& pre_bind);
  void send_lacks(const Request& request, std::vector<ConfigWish> wishes);
  bool is_told_of_lost_time(const Request& list);
  void note_protocol(const Request& list);
  void carry_out_event(const Request& request, const NodeDecision& decision);
  void prepare(const Tag& tag);
  void launch(const Tag& tag, std::optional<ReplyTo> reply_to);
  void stop(const Tag& tag);
  // The slot ends with this event; what it had prepared is removed.
  void withdraw(const Tag& tag, SlotEvent event);
  void end_promise(const Tag& tag);

  const AgentConfig config_;
  const Clock& clock_;
  Transport& transport_;
  Runtime& runtime_;
  Timers& timers_;
  Log& log_;
  Random random_;
  const Topics topics_;
  const std::string own_statuses_;  // what the topics of this node's statuses begin with
  Turn turn_;
  MadeVolumes volumes_;
  SlotTable slots_;
  DeviceObjects objects_;
  Promises promises_;
  Sweep sweep_;
  RollbackWatch watch_;
  Answers answers_;
  Reporter reporter_;
  Statuses statuses_;
  RefusedPods refused_;
  std::optional<Renewal> renewal_;                        // of a device that connects with a certificate
  std::vector<std::pair<Table, std::string>> discarded_;  // records of a lost store, erased once all is swept
  std::string lost_;                                      // why the store counts as lost; until all of it is gone
  Timers::Id retry_ = 0;
  bool started_ = false;
  ProtocolVersion gateway_protocol_;  // as last said by a List
};

}  // namespace berth
