// Gateway: the facade of the daemon's core. Fed with messages, link changes and due timers; each turn of the loop ends
// with one commit, and messages leave only after it. What happens to a pod: core/placement/pod_lifecycle.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gateway/api.h"
#include "core/gateway/desired_inbox.h"
#include "core/gateway/dispatcher.h"
#include "core/gateway/orders.h"
#include "core/gateway/readiness.h"
#include "core/gateway/status_view.h"
#include "core/gateway/store_watch.h"
#include "core/handshake/gateway_presence.h"
#include "core/placement/placement.h"
#include "core/workloads/workload_controllers.h"

namespace berth {

class Gateway final : public Transport::Handler {
 public:
  // All outlive it.
  Gateway(GatewayOptions options, const Registry& registry, const Clock& clock, Transport& transport, Store& store,
          Timers& timers, Log& log);
  ~Gateway() override;

  // Reads the store and resumes every row at its phase. An error is final: Code::unresolvable is a bad profile,
  // Code::error records of the store that cannot be read or make no sense.
  Status start();
  // Ends the turn: schedules what may be scheduled, commits, then sends. After an error the program must end and
  // start again.
  Status finish_turn();

  void on_message(const Message& message) override { dispatcher_.take(message); }
  void on_link(bool up) override;
  void on_send_window() override {}  // the turn that this begins goes on with what is pending

  // The leader that the broker names was this gateway itself, as far as it can tell.
  bool was_itself(const Leader& leader, bool is_same_machine) const;
  // It begins to serve, and will be the leader that others find. `followed`: another gateway has served the fleet since
  // this one did, or before it, under this term, if that is known: what that one placed is asked of the nodes (P13).
  // Called while the link is down; durable with the turn.
  void lead(const std::optional<std::uint64_t>& followed);
  // It cannot read its store, and does nothing.
  bool is_on_hold() const { return !options_.hold.empty(); }
  // The program ends after this turn.
  void say_goodbye();

  Metrics& metrics() { return metrics_; }
  // Brings the gauges of metrics() up to date.
  void measure();

  Readiness readiness() const { return readiness_of(context_); }
  // Why it is not ready; empty: ready.
  std::string not_ready() const { return readiness().reason(); }
  // Which damaged stores were set aside, and where; empty: none. Does not make it unready.
  std::string damaged_stores() const;

  // While set, nothing is written that safety does not need: queue positions, nominations by preemption and what known
  // devices report again are kept for a clean end, or until it is no longer set.
  void save_writes(bool saving);
  // While not empty, new objects are refused with this reason, as by a full store: what is known goes on being updated,
  // scheduled and deleted, and what stays retained at the broker is read again once it is empty.
  void refuse_new(std::string why) { admission_.refusal = std::move(why); }
  // Has the cache of classes of pods: how much memory that takes, and how much it may. The gateway owns it.
  NodeEvaluator& fast_path() { return *placement_.scheduler().evaluator(); }

  // For the simulator's invariants and for tests; none changes anything.
  const Identity& identity() const { return *identity_; }
  const Mirror& mirror() const { return mirror_; }
  const Bindings& bindings() const { return placement_.state().bindings; }
  const Releases& releases() const { return placement_.state().releases; }
  const Objects& objects() const { return objects_; }
  const Nodes& nodes() const { return nodes_; }
  const Scheduler& scheduler() const { return placement_.scheduler(); }
  const OrphanVolumes& orphan_volumes() const { return placement_.orphan_volumes(); }

 private:
  Status load();
  Status load_record(const RecordView& record);
  void subscribe();
  void subscribe_to_desired();
  void subscribe_to_statuses();
  void subscribe_to_reports();
  void on_synced();
  void read_refused_again();
  void publish();
  bool has_more_to_say() const;
  void turn_again();
  void prepare_ahead();
  void tick();

  GatewayOptions options_;
  const Registry& registry_;
  Transport& transport_;
  Random random_;
  Topics topics_;
  Metrics metrics_;
  Turn turn_;
  Objects objects_;
  Nodes nodes_;
  IdentityRecord identity_;
  Mirror mirror_;
  EventRecorder events_;
  AdmissionPolicy admission_;
  PlacementContext context_;
  Placement placement_;
  WorkloadControllers workloads_;
  Orders orders_;
  StatusView view_;
  DesiredInbox desired_;
  Api api_;
  Dispatcher dispatcher_;
  StoreWatch watch_;
  std::uint64_t position_ = 0;  // the store's next one at the end of the last turn
  bool saving_writes_ = false;
  bool ticked_ = false;  // in this turn
  Timers::Id tick_ = 0, again_ = 0;
};

}  // namespace berth
