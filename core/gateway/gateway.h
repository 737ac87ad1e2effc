// Gateway: the story of one pod, from the retained manifest to the proof that it runs (README.md). Owns queue,
// cache, rows and release lists; fed with messages, link changes and due timers; ends each turn with one commit.
//
// The implementation is told in chapters: gateway.cc (start, dispatch, turn), gateway_recovery.cc (what a start does
// with what was stored), gateway_desired.cc (orders in), gateway_objects.cc (manifests in), gateway_mirror.cc (what the
// broker retains of them), gateway_kinds.cc (those of the other kinds), gateway_volumes.cc (whose volume is whose),
// gateway_doomed.cc (deletes that wait), gateway_nodes.cc (devices in), gateway_inbox.cc (how much one may say),
// gateway_scheduling.cc (decide), gateway_binding.cc (the row's road), gateway_epochs.cc (which epochs live),
// gateway_flight.cc (how much one is asked), gateway_provisioning.cc (claims to be filled first), gateway_compare.cc
// (List/Slots, adopt mode), gateway_orphans.cc (slots without an object), gateway_forget.cc (devices that are gone),
// gateway_api.cc (clients), gateway_explain.cc (why, and what if), gateway_view.cc (what it shows), gateway_metrics.cc
// (what it counts).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cache/cache.h"
#include "core/clock.h"
#include "core/framework/framework.h"
#include "core/handshake/messages.h"
#include "core/handshake/row.h"
#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/mirror/retained_publisher.h"
#include "core/mirror/superseded_orders.h"
#include "core/objects/nodes.h"
#include "core/objects/objects.h"
#include "core/outbox.h"
#include "core/placement/binding.h"
#include "core/placement/open_listing.h"
#include "core/queue/queue.h"
#include "core/random.h"
#include "core/scheduler/explanation.h"
#include "core/scheduler/scheduler.h"
#include "core/store.h"
#include "core/timers.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

struct GatewayOptions {
  std::string fleet = "default";
  std::string gateway = "gateway";
  std::vector<std::string> known_nodes;  // operator's list: after a lost store these must answer first (P8)
  std::vector<Profile> profiles;
  Queue::Options queue;
  Millis promise_ms = 60'000;  // how long a node holds an admission without Bind; also the deadline of prebind
  Millis resend_ms = 1'000;    // first retry; doubles up to resend_ms_max, with jitter
  Millis resend_ms_max = 10'000;
  std::size_t max_rows_in_flight = 256;  // rows in prebind and bind above which pop pauses, of nodes that can answer
  std::size_t max_rows_per_node = 12;    // above it a row is decided, and begun when one of that node's is answered
  Millis compare_ms = 300'000;           // between two listings of one node, besides those at each connect
  std::uint64_t seed = 0;                // ties, jitter, store id
  std::string hold;                      // not empty: bind nothing, and say this as the reason (store unreadable)
  std::vector<std::string> set_aside;    // files of earlier, damaged stores; told of in the status
};

class Gateway final : public Transport::Handler, private SchedulerHost {
 public:
  Gateway(GatewayOptions options, const Registry& registry, const Clock& clock, Transport& transport, Store& store,
          Timers& timers, Log& log);
  ~Gateway() override;

  // Reads the store and resumes every row at its phase. An error is final: Code::unresolvable is a bad profile,
  // Code::error records of the store that cannot be read or make no sense.
  Status start();
  // Ends the turn: schedules what may be scheduled, commits, then sends. After an error the program must end and
  // start anew.
  Status finish_turn();

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_send_window() override {}  // the turn that this begins goes on with what is owed

  // Retained "offline" presence of this gateway, to give to the transport as its will.
  Message will() const;
  void say_goodbye();

  Metrics& metrics() { return metrics_; }

  // Why it is not ready; empty: ready.
  std::string not_ready() const;
  // The same by what is not: each empty when that is in order.
  struct Readiness {
    std::string store, broker, synced;
  };
  Readiness readiness() const;
  // Which damaged stores stand aside, and where; empty: none. Does not make it unready.
  std::string damaged_stores() const;

  // While set, nothing is written that safety does not need: places in the queue, what preemption promised and what
  // known devices tell anew of themselves are kept at a clean end, or once it is no longer set.
  void save_writes(bool spare);
  // While not empty, new objects are refused with this reason, as by a full store: what is known goes on being updated,
  // scheduled and deleted, and what stays retained at the broker is read again once it is empty.
  void refuse_new(std::string why) { refusing_ = std::move(why); }

  // Brings the gauges of metrics() up to date.
  void measure();

  // For the simulator's invariants and status; none changes anything.
  struct Identity {
    GatewayId id;
    bool adopting = false;
    std::set<std::string> adopt_nodes;  // still to answer (P8)
    std::set<std::string> orphans;      // "<node>/<uid>/<epoch>": found without an object, waiting for the operator
    std::set<std::string> ending;       // release-list entries whose slot may still run: the pod is placed nowhere else
    std::set<std::string> retired;      // "<node>/<incarnation>": forgotten, and not cleared since (P9)
    std::set<std::string> deleted;      // uids that the operator deleted in adopt mode, before a node told of them
    std::set<std::string> withdrawn;    // uids of pods that are gone, while the broker may retain their operator's word
    bool statuses_unread = false;       // what an earlier store's gateway said may still be retained, of what is gone
  };
  const Identity& identity() const { return identity_; }
  const SupersededOrders& superseded_orders() const { return superseded_; }
  using Bindings = std::map<Text, Binding, std::less<>>;
  const Bindings& bindings() const { return bindings_; }  // by pod uid
  struct Release {
    ReleaseEntry entry;
    Timers::Id resend = 0;
    int resends = 0;
  };
  const std::map<std::string, Release>& releases() const { return releases_; }  // by "<node>/<uid>/<epoch>"
  const Objects& objects() const { return objects_; }
  const Nodes& nodes() const { return nodes_; }
  const Scheduler& scheduler() const { return scheduler_; }
  const Lister& lister() const { return objects_; }
  const Queue& queue() const { return queue_; }
  const Cache& cache() const { return cache_; }

 private:
  // gateway.cc
  Status load();
  Status load_record(const RecordView& record);
  Status load_meta(const RecordView& record);
  void save_identity();  // once a turn, when identity_changed_: a listing may bring thousands of orphans
  void dispatch(const std::vector<std::string_view>& levels, const Message& message);
  void subscribe_to_desired();
  void send_fence();
  void on_fence();
  void republish_all();
  void show();
  bool has_more_to_say() const;
  void turn_again();
  void read_turned_away();
  Status capacity();  // as Store::capacity(), for whatever new objects need
  void refuse(std::string_view what, const std::string& why);
  const Framework* framework_of(const Pod& pod) const { return scheduler_.framework_of(pod); }
  void tick();
  bool is_on_its_way(const std::string& key) const;

  // gateway_recovery.cc
  void recover();
  void resume_rows(std::deque<Row> rows);
  void resume_row(Row row);  // recovery and adoption: enters the binding cycle at row.phase
  std::shared_ptr<const Pod> find_placed(Row& row);
  Binding restore_binding(Row row);
  Binding& add_binding(Binding binding);

  // gateway_desired.cc
  void on_desired(const std::vector<std::string_view>& levels, const Message& message);
  void read_order(Kind kind, const std::string& key, const Json& json, const Message& message);
  void take_order(Kind kind, const std::string& key, const Json& json, const std::string& text, const Message& message);

  // gateway_objects.cc
  struct Accepted {
    std::string word;  // "created", "updated", "unchanged", "waiting"
    std::string key;
    std::string uid;
    Warnings warnings;
  };
  Result<Accepted> accept(Kind kind, const Json& object, const std::string& expected_key, bool recreate);
  Result<Accepted> accept_pod(const Json& object, const std::string& expected_key, bool recreate);
  Result<Accepted> accept_node_overlay(const Json& object, const std::string& expected_key);
  struct Admitted {
    std::shared_ptr<Pod> pod;
    bool known = false;  // a new version of the pod of this name
    Warnings warnings;
  };
  // What is asked of a pod's manifest before it is accepted. Changes nothing but `random_`, for a uid.
  Result<Admitted> admit_pod(const Json& object, const std::string& expected_key, bool recreate);
  static Status check_update(const PodEntry& entry, const Pod& next);
  Status admit_priority(Json& manifest);
  Result<Accepted> update_pod(PodEntry& entry, const std::shared_ptr<Pod>& next, Warnings warnings);
  void create_pod(const std::shared_ptr<const Pod>& pod);
  // Deletes by name; `uid` empty: whatever uid. Error when there is nothing of that name (or uid).
  Status remove_object(Kind kind, const std::string& key, const std::string& uid);
  void remove_pod(PodEntry& entry);
  void show_leaving(PodEntry& entry);
  void wake_updated(const Pod& before, const Pod& after, const std::string& node);
  void finish_removal(const std::string& key);  // the row is gone (or never was): erase, successor takes the name

  // gateway_mirror.cc
  void mirror(Kind kind, const std::string& key);
  void mirror_pod(PodEntry& entry);
  void clear_withdrawn(const std::string& key, const std::string& uid);
  void note_seen(Kind kind, const std::string& key);
  bool is_seen(Kind kind, const std::string& key) const;
  void clear_pod(const std::string& key, const std::string& uid, bool was_left);
  Json status_to_publish(Kind kind, const std::string& key);
  void on_status(const std::vector<std::string_view>& levels, const Message& message);
  void settle_mirrors();
  void mirrors_settled();
  void change(Kind kind, const std::string& key, const std::function<void()>& order);

  // gateway_kinds.cc
  Result<Accepted> accept_other(Kind kind, const Json& object, const std::string& expected_key);
  Status keep_other(Kind kind, const Json& manifest, const std::string& expected_key, Accepted& accepted);
  Json with_owned_fields(Kind kind, const std::string& key, Json manifest) const;
  void erase_other(Kind kind, const std::string& key);

  // gateway_volumes.cc
  void hold_volumes(const Row& row);
  // The bound volumes are Bound, now or as soon as claim and volume are known; `holder`: key of awaited_volumes_.
  void hold_volumes(const std::string& holder, const std::vector<BoundVolume>& bound_volumes);
  void let_go_of_volumes(const Row& row);
  bool is_used(const std::string& claim) const;
  bool drop_awaited_volumes_of(const std::string& claim);
  bool is_reserved(const std::function<bool(const BoundVolume&)>& is_it) const;  // by a row in prebind
  bool is_reserved(const std::string& volume) const;
  void join_halves(Kind kind, const std::string& key);
  void join_half(Kind kind, const std::string& key);
  bool is_spoken_for(const std::string& claim) const;
  void settle_claim(const std::string& key, Json& manifest);
  void move_claims(const Row& found);
  void leave_volume(const BoundVolume& bound_volume);
  void join_waiting_halves();
  bool is_taken(const BoundVolume& bound_volume) const;  // claim or volume is bound to another
  bool is_volume_of_another(const BoundVolume& bound_volume) const;
  bool bind_volume(const BoundVolume& bound_volume);  // claim and volume become each other's; false: nothing changed

  // gateway_doomed.cc
  void begin_delete(Kind kind, const std::string& key);  // the delete of a volume or claim; may have to wait
  void delete_unused_volumes();                          // a deleted claim or volume goes when no pod uses it
  void release_volume(const std::string& name, const std::string& claim_key);
  void offer_again(const PersistentVolume& deleted);
  void save_terminating();
  Status load_terminating(const RecordView& record);

  void wake(const ClusterEvent& event, const EventObjects& objects);

  // gateway_inbox.cc
  bool put_off(const std::vector<std::string_view>& levels, const Message& message);
  void hear_answers(const std::string& node, const Message& message);
  struct Inbox {
    std::size_t taken = 0;  // in this turn
    std::size_t held = 0;   // by `waiting`
    std::vector<Message> waiting;
    bool overflows = false;  // since it was last empty
  };
  void read_inboxes();
  void read_inbox(Inbox& inbox);
  void end_inbox_turn();

  // gateway_nodes.cc
  void on_node(const std::vector<std::string_view>& levels, const Message& message);
  void on_pod_status(const std::string& node, const std::string& key, const Message& message);
  Result<NodeChange> on_heartbeat(const std::string& node, const Json& payload);
  bool is_silent_return(const std::string& node, std::string_view topic, const Json& payload) const;
  void apply_change(const std::string& node, const NodeChange& change);
  void refresh_node(const std::string& node);  // facts, overlay or taint changed
  void refresh_local_volumes(const std::string& node);
  void check_silence();
  void compare_now_and_then();
  void note_start(PodEntry& entry, const Json& observed);
  void take_finished(Binding& binding);

  // gateway_scheduling.cc
  void schedule_pending();
  // Into the queue; a pod whose profile this gateway has no more waits outside for a start that has it.
  // `kept`: from an earlier run.
  void enqueue(const std::shared_ptr<const Pod>& pod, const QueuePosition* kept = nullptr);
  void start_binding(std::unique_ptr<BindingCycle> cycle);
  std::shared_ptr<const Pod> find_unplaced(const Pod& pod) const override;
  bool may_try(const Pod& pod) override;
  void record_event(const Pod& pod, const SchedulingEvent& event) override;
  std::optional<PodCondition> condition_of(const Pod& pod) const override;
  void patch_status(const Pod& pod, const StatusPatch& patch) override;
  Status bind(const Pod& pod, const std::string& node) override;
  Status evict(const Pod& victim, const Pod& preemptor) override;
  void node_chosen(const QueuedPod& queued) override;
  void attempt_ended(const QueuedPod& queued, std::string_view result) override { count_attempt(queued, result); }
  void replace_pod(PodEntry& entry, const std::shared_ptr<const Pod>& changed);

  // gateway_binding.cc
  Task binding_cycle(Binding& binding);
  Status begin_row(Binding& binding);
  void arm_deadline(Binding& binding);
  void move(Binding& binding, RowEvent event);
  void enter_bind(Binding& binding);
  void enter_bound(Binding& binding);
  void enter_release(Binding& binding, RowEvent event);
  void end_row(Binding& binding, const Move& made);
  void wake_freed(const Binding& binding);
  void wake_promised(const Binding& binding);
  void give_up(Binding& binding, const Status& status, bool waited);  // before a row was written
  void feed(std::string_view uid, RowEvent event);                    // may end and drop the binding
  void feed_permit(std::string_view uid, Status status);
  void reap(std::string_view uid);
  void request(Binding& binding);  // (re)sends what the phase asks for, and sets the next resend
  void verify(Binding& binding);   // asks the node about a bound row: resends Bind
  void arm_resend(Timers::Id& timer, int& resends, std::function<void()> run);
  void send_request(const std::string& node, Request request);
  void on_answer(Answer answer);
  void add_release(ReleaseEntry entry, bool may_run);  // may_run: the pod is placed nowhere before the answer
  void request_release(const std::string& key);
  void restore_release(ReleaseEntry entry);
  void end_release(const std::string& key);
  void drop_release(const std::string& key);
  void resend_all(const std::string& node);

  // gateway_epochs.cc
  Epoch floor_of(const std::string& node) const;
  std::string uid_of_epoch(const std::string& node, const Epoch& epoch) const;
  void hold_epoch(const std::string& node, const Epoch& epoch, const Text& uid);
  void drop_epoch(const std::string& node, const Epoch& epoch, std::string_view uid);
  std::vector<Binding*> rows_of(const std::string& node);  // by uid

  // gateway_flight.cc
  void enter_flight(const Row& row);
  void leave_flight(const Row& row);
  bool window_is_full() const;
  bool is_busy(const std::string& node) const;
  bool waits_for(const std::string& node, std::string_view uid) const;
  Status defer(Binding& binding);
  void begin_deferred();

  // gateway_provisioning.cc
  Status await_provisioners(Binding& binding, Millis again_at);
  void look_for_provisioned();  // claims or volumes changed: PreBind runs again for those who wait for them
  static std::string what_is_provisioned(const Binding& binding);

  // gateway_compare.cc
  void list_node(const std::string& node);
  void ask_page(const std::string& node);
  bool wants_report(const std::string& node);
  void on_slots(const Answer& answer);
  // False when the store had no room for all of it: the node has not answered then.
  bool compare(const std::string& node, const std::vector<SlotReport>& slots, const std::string& incarnation);
  bool adopt_slot(const std::string& node, const SlotReport& slot, const std::string& incarnation);
  void on_superseded(const Answer& answer);
  void enter_adopt(std::set<std::string> nodes);
  void adopted(const std::string& node);
  void end_adopt();
  void drop_row(Binding& binding);
  void note_incarnation(const Answer& answer);

  // gateway_orphans.cc
  std::vector<std::string> orphans_of(std::string_view uid) const;
  bool may_run_elsewhere(std::string_view uid) const;
  void queue_if_free(std::string_view uid);
  void keep_orphan(const ReleaseEntry& entry, const std::string& key);
  bool release_orphans(std::string_view uid);
  void ask_for_orphans(std::string_view uid);
  void forget_orphan(const std::string& key);
  void forget_orphans_not_in(const std::string& node, const std::set<std::string>& names);

  // gateway_forget.cc
  Status retire_node(const std::string& node);
  // `incarnation` empty: none is known yet.
  bool is_retired(const std::string& node, const std::string& incarnation) const;
  bool is_retired(const std::string& node) const;  // as it was last heard of
  void drop_node(const std::string& node);
  void retire_row(std::string_view uid, const std::string& node);
  void orphan_volumes(const std::string& node);
  void unbind_claim(const std::shared_ptr<const PersistentVolumeClaim>& claim);
  void welcome_back(const std::string& node, const std::string& incarnation);
  Json api_retire(const Json& request);

  // gateway_api.cc
  void on_api(const Message& message);
  Json answer_api(const Json& request);
  Json api_apply(const Json& request);
  Json api_delete(const Json& request);
  Json api_get(const Json& request);
  Json api_describe(const Json& request);
  Json api_status();

  // gateway_places.cc
  Status load_place(const RecordView& record);
  void restore_queue();
  // Beside what this turn makes durable anyway; `all`: even if that is nothing.
  void save_places(bool all);
  void save_deferred();
  void forget_place(std::string_view uid);
  static void take_place(const QueuePosition& place, QueuedPod& queued);

  // gateway_permit.cc
  void deliver_permits();  // what Permit plugins, operators or time decided goes on at once
  const WaitingPod* waiting_of(const Json& request, std::string& why) const;
  Json api_waiting(const Json& request) const;
  Json api_allow(const Json& request);
  Json api_reject(const Json& request);

  // gateway_explain.cc
  Json api_explain(const Json& request);
  Json api_plan(const Json& request);
  // A trial of a cycle of the pod, as if that of uid `excluded_uid` were placed nowhere. Changes nothing.
  Explanation try_pod(const Pod& pod, const std::string& excluded_uid, const Json& request);
  Json placement_of(const PodEntry& entry) const;

  // gateway_metrics.cc
  void measure_queue();
  void count_attempt(const QueuedPod& queued, std::string_view result);

  // gateway_view.cc
  Json view(Kind kind, const std::string& key) const;  // object with status, as get shows it; null: none
  Json status_of(Kind kind, const std::string& key) const;
  Json pod_status(const PodEntry& entry) const;
  Json budget_status(const PodDisruptionBudget& budget) const;
  Json node_status(const DeviceNode& device) const;
  std::string why_pending(const PodEntry& entry) const;
  std::string reason_pending(const PodEntry& entry, const std::string& why) const;
  std::string nominated_node(const PodEntry& entry) const;

  GatewayOptions options_;
  const Registry& registry_;
  const Clock& clock_;
  Transport& transport_;
  Store& store_;
  Timers& timers_;
  Log& log_;
  Random random_;
  Topics topics_;
  Metrics metrics_;
  Turn turn_;
  Outbox<Request> requests_;
  Objects objects_;
  Nodes nodes_;
  RetainedPublisher publisher_;
  Scheduler scheduler_;
  Cache& cache_;
  Queue& queue_;
  Identity identity_;
  bool identity_changed_ = false;
  bool ticked_ = false;           // in this turn
  bool volumes_changed_ = false;  // in this turn
  Bindings bindings_;
  std::map<std::string, Release> releases_;
  // By node: of rows and release entries, lowest first (P10).
  std::unordered_map<std::string, std::vector<std::pair<Epoch, Text>>> live_epochs_;  // and whose: uids
  std::map<std::string, std::size_t> in_flight_;  // by node: rows in prebind and bind
  std::size_t all_in_flight_ = 0;
  std::map<std::string, std::deque<std::string>> deferred_;  // by node: uids in the order of their decisions
  std::set<std::string> freed_;                              // nodes with fewer rows in flight than a moment ago
  std::set<std::pair<Kind, std::string>> terminating_;       // volumes and claims whose delete waits for their users
  // By uid of a row, or key of a release-list entry: claim or volume is not known yet.
  std::map<std::string, std::vector<BoundVolume>> awaited_volumes_;
  std::map<Text, QueuePosition, std::less<>> places_;  // by uid: as the store has them
  std::deque<Row> rows_loaded_;                        // between load() and recover()
  std::set<std::string> adopted_;                      // nodes that have answered in this adopt mode
  std::map<std::string, PodCondition> conditions_;     // pod key -> why its last attempt failed
  std::uint64_t position_ = 0;                         // the store's next one at the end of the last turn
  bool link_up_ = false;
  bool synced_ = false;  // the fence came back in this session
  std::uint64_t fence_ = 0;
  bool saving_writes_ = false;
  std::set<std::string> deferred_writes_;  // keys of pods whose record is behind
  std::string refusing_;
  bool reading_again_ = false;        // desired/ in this session, since something was turned away
  std::optional<std::string> inbox_;  // in hand, as compact text, when the broker retains just this
  SupersededOrders superseded_{store_};
  std::set<std::string> under_way_;                         // keys of pods whose mirror may be on its way to the broker
  std::map<std::string, std::set<std::string>> clearings_;  // owed, by key: of which uids withdrawn
  struct Settling {
    std::set<std::string> keys, uids;  // of under_way_ and withdrawn
    bool reading_again = false;
  };
  // Statuses whose topic was cleared, and the fence that shows that the broker has it.
  std::map<std::pair<Kind, std::string>, std::uint64_t> cleared_;
  std::optional<Settling> settling_;                     // what the fence that is under way stands behind
  std::set<std::string> volumes_turned_away_;            // nodes that offered volumes when there was no room
  bool turned_away_ = false;                             // something retained was refused for want of room
  std::uint32_t session_ = 1;                            // with the broker; see PodEntry
  std::set<std::pair<Kind, std::string>> seen_desired_;  // in this session; no pods. The rest is mirrored again
  // Since the fence: objects to be shown and, where they were not seen, mirrored; nodes to be asked.
  std::size_t to_show_ = kinds().size();  // in kinds(): of this one those behind shown_, and all of the next ones
  std::string shown_;
  std::deque<std::string> to_republish_;
  std::map<std::string, OpenListing> listings_;  // by node
  std::string inbox_last_;                       // node that read_inboxes() heard last
  std::map<std::string, Inbox> inboxes_;         // by node: of those that spoke in this turn or have something waiting
  std::map<std::string, Millis> compared_;       // by node: last listing of compare_now_and_then()
  std::set<std::string> unreported_;             // nodes whose final statuses were lost on the way
  std::uint64_t last_list_ = 0;
  Timers::Id tick_ = 0, again_ = 0, permit_timer_ = 0, inbox_timer_ = 0;
};

}  // namespace berth
