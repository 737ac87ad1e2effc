// Witness: observes all commits, sent messages and deliveries, decodes them once, and keeps the history that the
// invariants need. The only program state it reads directly is the cache and queue of a running gateway.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/records.h"
#include "core/cache/node_info.h"
#include "core/gateway/gateway.h"
#include "core/handshake/messages.h"
#include "core/handshake/proof.h"
#include "core/handshake/row.h"
#include "storage/change.h"
#include "tests/sim/one_name.h"
#include "tests/sim/record_ids.h"
#include "tests/sim/sim_runtime.h"

namespace berth::sim {

// As reports name a pod's attempt: uid@epoch.
inline std::string show(std::string_view uid, const Epoch& epoch) { return std::string(uid) + "@" + to_text(epoch); }

// The state on a device's flash and machine.
struct DeviceView {
  std::string name;
  std::string node;      // its own name, unless two devices have one
  bool hostile = false;  // it lies: no invariants hold for what it runs
  Resources allocatable;
  std::optional<std::vector<std::string>> features;  // what its runtime can do; none: it does not say
  const SimRuntime* runtime = nullptr;
  Contents contents;
  AgentRecords durable;
  struct Promise {
    Epoch epoch;
    Millis since = 0;  // on the machine's clock: the end of the turn that made it
    int boots = 0;
  };
  // Its store and its mark are an older copy, which it cannot know before it is told.
  struct OlderCopy {
    std::string incarnation;
    std::optional<int> knew;  // the start of the gateway that had heard of a later time; none: it had not
  };
  std::optional<OlderCopy> older_copy;
  std::map<std::string, Promise> promises;                  // by uid: slots preparing or prepared
  std::map<std::string, std::pair<Epoch, Demand>> demands;  // by uid: for the slot with this epoch
};

// The state on the gateway's flash.
struct GatewayView {
  Contents contents;
  bool has_store = false;  // false: never booted, or not started again since a wipe
  GatewayId id;
  bool adopting = false;
  bool is_new = false;         // nothing has spoken against that yet (P15)
  bool has_begun_new = false;  // it was new, and has not been in adopt mode since
  std::set<std::string> orphans, kept;
  std::set<std::string> twins;                   // "<node>/<incarnation>/<machine>": of one of two devices (D5)
  std::set<std::string> retired;                 // "<node>/<incarnation>": forgotten, not cleared yet (P9)
  std::map<std::string, Row> rows;               // by uid
  std::map<std::string, ReleaseEntry> releases;  // by "<node>/<uid>/<epoch>"
  std::set<std::string> rows_with_volumes;       // uids
  struct Half {                                  // one side of a claim's binding
    std::string bound_to;                        // a claim's volume, or a volume's claim; empty: none
    std::string phase;
  };
  std::map<std::string, Half> claims, volumes;  // by key
  const Gateway* alive = nullptr;               // null: not running

  bool has_retired(const std::string& node, const std::string& incarnation) const {
    return retired.contains(node + "/" + incarnation) || retired.contains(node + "/");
  }
  bool is_behind = false;           // another gateway has served since, which it has not noticed yet (P13)
  bool is_copy = false;             // and that one was a copy of its machine
  bool is_blind = false;            // its card was put back, and no node has told it yet (P12)
  std::string copied_from;          // store id of an older copy that was put in place of the store
  std::set<std::string> from_copy;  // "<uid>@<epoch>" of its bound rows: the devices may know better

  // The gateway notices an older copy at its start, and gives it another store id.
  bool is_settled() const {
    return has_store && !adopting && !is_new && !is_behind && !is_blind && copied_from != id.store_id;
  }
};

using PlacementId = std::pair<std::string, Epoch>;  // uid and epoch

struct SentBind {
  PlacementId named;
  std::string node;
  std::string incarnation;  // the addressed incarnation
};

class Witness {
 public:
  DeviceView& add_device(const std::string& name, const std::string& node, Resources allocatable,
                         const SimRuntime& runtime);
  const std::vector<std::unique_ptr<DeviceView>>& devices() const { return devices_; }
  const DeviceView* device(const std::string& name) const;
  // The device of this node that has a store of this incarnation; null: none.
  const DeviceView* device(const std::string& node, std::string_view incarnation) const;
  bool is_shared(const std::string& node) const;
  void set_hostile(const std::string& name);
  // The pod's manifest has spec.nodeName; empty: it has none.
  void set_named(const std::string& pod, const std::string& node) { named_[pod] = node; }
  std::string named(const std::string& pod) const {
    const auto found = named_.find(pod);
    return found == named_.end() ? std::string() : found->second;
  }
  const GatewayView& gateway() const { return gateway_; }
  const OneName& names() const { return names_; }
  OneName& names() { return names_; }
  // The machine of the gateway is another one. `is_marked_new`: as an installation marks it.
  void machine_lost(bool is_marked_new);
  // Another machine serves the fleet, with the store that it has: older than what was placed since, or none.
  // `is_copy`: of the machine that served before.
  void handed_over(const Contents& store, bool is_copy = false);
  // The gateway learns from the broker that another one has served.
  void gateway_follows() { follows_ = true; }
  // Two gateways serve at a time.
  void two_serve(const std::string& what) { news_.unproven.push_back(what); }
  // Its store alone is lost.
  void store_lost() { must_adopt_ = true; }
  void set_gateway(const Gateway* gateway);
  // Any proof that a gateway gave this node; empty: none so far.
  std::string proof_given_to(const std::string& node) const {
    const auto found = proofs_given_.lower_bound({node, ""});
    return found == proofs_given_.end() || found->first.first != node ? "" : found->first.second;
  }
  // The gateway hears from the node under this incarnation: another one is passed over no longer (D2).
  void note_incarnation(const std::string& node, std::string_view incarnation);
  // After each message: what the gateway believes by now.
  void note_believed_incarnations();
  // The node says something of itself: what it refused before, it may be asked again (D6).
  void note_facts(const std::string& node) {
    std::erase_if(refused_, [&](const auto& each) { return each.first.second == node; });
  }
  // A volume or claim is applied.
  void note_volumes() { refused_.clear(); }
  // The running gateway passes the node over from now on.
  // why: as the gateway's log tells it.
  void note_passed_over(const std::string& node, std::string_view why, Millis now);

  // The flash may have changed; if `touched` is given, only in these records.
  void read_gateway(const Contents& contents, const RecordIds* touched = nullptr);
  // The flash was replaced by this older copy.
  void gateway_rolled_back(const Contents& copy);
  void read_device(const std::string& name, const Contents& contents, const RecordIds* touched = nullptr);
  // Likewise with its mark, and the broker has lost what it retained.
  void gateway_put_back(const Contents& copy);
  // The flash of the device was replaced by this older copy, and its mark too. What it promised since is not known to
  // it.
  void device_rolled_back(const std::string& name, const AgentRecords& copy, std::uint64_t next_position);
  // It hears a List. True: that tells it.
  bool device_told(const std::string& name, const Request& list, std::uint64_t next_position);
  // It was told, and has gone on as if it had not been.
  void device_ignored_that(const std::string& name) {
    news_.untold.push_back("node " + name + " was told that its store is an older copy, and goes on with it");
  }
  // The gateway has started with an older copy of its store, beside the mark of a later one.
  void gateway_ignored_mark() {
    news_.untold.emplace_back("the gateway's store is an older copy, and it goes on with it");
  }
  // Its time floor is lower than at its start, or has risen further than it may.
  void time_floor_leapt(const std::string& name, Millis from, Millis to) {
    news_.leaps.push_back("node " + name + " has moved its time floor from " + std::to_string(from) + " to " +
                          std::to_string(to));
  }
  // Whoever was not told by now is consistent again, since the gateway has compared it.
  void end_rollbacks(const ProofKey& key);

  void gateway_sent(const std::string& node, const Request& request, Millis now);
  // Whether the request was first sent so recently that its answer may still be in transit.
  bool is_fresh(RequestType type, const PlacementId& named, Millis now) const;
  // The gateway received a message about this pod in the current turn.
  void note_message_about_pod(const std::string& key) { ++messages_in_turn_[key]; }
  // The pod was preempted in the current turn.
  void gateway_preempted(const std::string& key) { preempted_.insert(key); }
  // Checks what can only be decided at the end of a turn.
  void check_turn();
  void turn_ended() { messages_in_turn_.clear(), preempted_.clear(); }
  void gateway_answered_client(const std::string& payload);
  void device_sent(const Answer& answer);
  // The answer, completed with the uid that belongs to its epoch if it has none.
  Answer with_uid(Answer answer) const;
  Request with_uid(Request request) const;
  // A turn of the agent ended successfully, at this time of the machine's clock, which restarts at each boot.
  void device_turned(const std::string& name, Millis now, int boots);
  // The same for an agent that has finished its startup cleanup: its machine must hold only what slots refer to.
  void check_holdings(const std::string& name);

  void gateway_received(const Answer& answer);
  // Its clock.
  void set_gateway_clock(const Clock& clock) { gateway_clock_ = &clock; }
  // The gateway hears from this incarnation, live.
  void note_heard(const std::string& node, const std::string& incarnation);
  // The slot is one of two devices under one name, and the gateway could not know of both.
  bool is_apart(const std::string& name, const PlacementId& named) const {
    return apart_.contains({named.first, named.second, name});
  }

  // Called before and after a message that is handled in its own turn; the latter not if the program crashed.
  void before_gateway_message(const std::string& sender, const std::optional<Answer>& answer,
                              const std::string& status_uid);
  void after_gateway_message();
  void before_device_message(const std::string& node, const Request& request, bool ready);
  void after_device_message(const std::string& node);
  void forget_message() { at_gateway_.reset(), at_device_.reset(); }

  // Events since the last check.
  struct News {
    std::vector<Row> begun;                                // rows with a new epoch
    std::map<std::string, Epoch> highest_seen_by_devices;  // at the time the rows began, by node
    std::vector<std::string> conflicting_epochs;           // S2, as text
    std::vector<SentBind> binds_sent;
    std::vector<std::string> repeated_epochs;         // S1, as text
    std::vector<std::string> stale_changes;           // S6, as text
    std::vector<std::string> accepted_without_flash;  // S11, as text
    std::vector<std::string> foreign_changes;         // S12, as text
    std::vector<std::string> overdue_promises;        // N5, as text
    std::vector<std::string> held_without_slot;       // HELD, as text
    std::vector<std::string> asked_too_soon;          // PASSED, as text
    std::vector<std::string> passed_over_in_vain;     // PASSED, as text
    std::vector<std::string> asked_in_vain;           // ABLE, as text
    std::vector<std::string> untold;                  // TOLD, as text
    std::vector<std::string> leaps;                   // TIME, as text
    std::vector<std::string> unproven;                // S13, as text
    std::vector<std::string> two_of_a_name;           // S14, as text
    std::vector<std::string> mistaken;                // S16, as text
  };
  const News& news() const { return news_; }
  // The scope of the next check: what has changed since the last one, or everything; the sets then contain everything.
  struct Scope {
    bool everything = false;
    std::set<std::string> slots;  // nodes whose slots changed
    std::set<std::string> rows;   // nodes whose rows or release list changed
    std::set<std::string> uids;   // of pods with a changed row, release entry, slot, workload or final answer
    std::set<std::string> pods;   // keys of pods with a changed object or row
    bool volumes = false;         // claims, volumes or their users have changed
  };
  const Scope& scope() const { return scope_; }
  void check_everything();
  void touch_workload(const std::string& uid) { scope_.uids.insert(uid); }
  void checked() { news_ = {}, scope_ = {}; }

  bool was_bind_durable(const PlacementId& named) const { return bind_durable_.contains(named); }
  bool was_prebound_received(const PlacementId& named) const { return prebound_received_.contains(named); }
  // The operator forgot this node after the pod was placed there: it may run elsewhere too (S4).
  bool was_forgotten(const std::string& node, const PlacementId& named) const {
    return forgotten_.contains({named.first, named.second, node});
  }
  // The operator ended adopt mode, and this node had not reported the placement: the pod may run elsewhere too (S4,
  // P15).
  // A row that an earlier gateway's store began: of the operator's pods, the one that was applied since is an update of
  // it (P14).
  bool was_found(std::string_view uid) const;
  bool was_not_awaited(const std::string& node, const PlacementId& named) const {
    return not_awaited_.contains({named.first, named.second, node});
  }
  struct Final {
    AnswerType type;
    Epoch epoch;
    std::string incarnation;  // the sender's
  };
  // All final answers sent, by node and uid.
  const std::map<std::pair<std::string, std::string>, std::vector<Final>>& finals() const { return finals_; }
  std::uint64_t binds() const { return binds_; }
  // Rows begun since reset_attempts(), by uid.
  const std::map<std::string, int>& attempts() const { return attempts_; }
  void reset_attempts() { attempts_.clear(); }
  // PreBind, Bind and Release requests sent; and those that were first sent long before.
  std::uint64_t requests_sent() const { return requests_sent_; }
  std::uint64_t late_resends() const { return late_resends_; }

 private:
  void read_gateway_record(const Contents& contents, const std::pair<Table, std::string>& id,
                           std::vector<Row>& changed);
  void gateway_record_gone(const std::pair<Table, std::string>& id);
  void touch_row(const Row& row);
  void touch_release(const ReleaseEntry& entry);
  void volume_record_changed(const std::string& key, const std::string& manifest);
  void gateway_record_changed(const Contents::value_type& record, std::vector<Row>& changed);
  void note_row(const Row& row);
  void check_found(const std::string& key);
  void unhear_nodes();
  void note_own_terms(const Gateway& gateway);
  void check_adopted(bool was_adopting);
  void check_name_is_free(const Row& row);
  void note_refused(const Answer& answer);
  bool is_lasting(const Answer& answer) const;
  void check_refused(const std::string& node, const Request& request, Millis now);
  void check_able(const std::string& node, const Request& request);
  void note_forgotten(const std::string& node);
  void note_kept();
  void note_late(const std::set<std::string>& nodes);
  void note_not_awaited(const std::string& node);
  using Placements = std::set<std::tuple<std::string, Epoch, std::string>>;  // uid, epoch, device
  void add_placements_of(const std::string& node, Placements& placements);
  void note_epoch(const GatewayId& id, const Epoch& epoch, const std::string& uid, const std::string& node);
  // `incarnation` empty: any.
  bool is_final(const std::string& node, const PlacementId& named, const std::string& incarnation) const;

  std::vector<std::unique_ptr<DeviceView>> devices_;
  std::map<std::string, std::string> named_;  // by pod: the node of spec.nodeName
  OneName names_;
  bool follows_ = false;     // the gateway does, not durably yet
  bool must_adopt_ = false;  // the next store begins in adopt mode
  struct RefusedAt {
    Millis since = 0;
    Millis least = 0;  // until it may be asked again
    std::string incarnation;
    Content manifest;  // of the pod, as it was
  };
  std::map<std::pair<std::string, std::string>, RefusedAt> refused_;  // by uid and node
  std::set<std::string> returned_;     // forgotten nodes that were cleared in the commit that is being read
  std::set<std::string> names_freed_;  // of pods, in the commit that is being read
  std::set<std::string> new_entries_;  // of the release list, in the commit that is being read
  GatewayView gateway_;
  News news_;
  Scope scope_;
  std::map<std::pair<std::string, Epoch>, std::pair<std::string, std::string>>
      owner_of_;                                                      // by store and epoch: uid and node
  std::map<std::pair<std::string, std::string>, Epoch> last_begun_;   // by store id, and node with incarnation
  std::set<std::tuple<std::string, Epoch, std::string>> placements_;  // uid, epoch, node
  Placements forgotten_;                                              // of a node when it was forgotten
  std::set<std::string> found_;  // uids of rows that were made of what a node listed
  Placements not_awaited_;       // of a node that had not answered when the operator ended adopt mode
  std::set<PlacementId> bind_durable_, prebound_received_;
  std::set<std::string> durable_uids_;
  std::map<std::string, int> messages_in_turn_;  // by key
  std::map<std::pair<std::string, std::string>, std::vector<Final>> finals_;
  std::map<std::string, int> attempts_;
  std::uint64_t binds_ = 0;
  std::uint64_t requests_sent_ = 0;
  std::uint64_t late_resends_ = 0;
  std::map<std::pair<RequestType, PlacementId>, Millis> asked_;  // when first sent
  std::set<std::string> preempted_;
  std::vector<std::pair<std::string, std::string>> accepted_;  // in this turn: key and violation

  void judge_hellos();
  // The gateway's store was lost or replaced: it knows of two devices under one name no more.
  void forget_twins();
  void set_apart(const DeviceView& view, const PlacementId& named);
  struct Ended {
    std::string node, incarnation;
    PlacementId named;
    auto operator<=>(const Ended&) const = default;
  };
  std::set<Ended> hellos_;                                       // for which of them the gateway has heard a Hello
  std::vector<Ended> gone_;                                      // rows and release-list entries, in this turn
  std::set<std::tuple<std::string, Epoch, std::string>> apart_;  // uid, epoch, device
  struct HeardAt {
    Millis last = 0;
    Millis before = 0;  // before the last 100 ms
  };
  std::map<std::pair<std::string, std::string>, HeardAt> heard_;  // by node and incarnation
  const Clock* gateway_clock_ = nullptr;

  void find_unheard_proofs(const ProofKey& key);
  void note_obeyed_before(const Answer& answer);
  void note_superseded(const Answer& answer);
  void check_authority();
  std::map<std::pair<std::string, std::string>, GatewayId> proofs_given_;  // by node and proof
  std::map<std::string, std::uint64_t> said_;  // by node: the highest term that it has named in Superseded
  std::uint64_t explained_term_ = 0;           // what the running gateway's own term may be
  std::uint64_t own_term_ = 0;
  bool may_adopt_ = false;  // and whether it may be in adopt mode
  void check_passed_over(const std::string& node, const Request& request, Millis now);
  struct PassedOver {
    Millis since = 0;
    std::string incarnation;
    Epoch last;  // of its rows at that time
  };
  std::map<std::string, PassedOver> passed_over_;  // by node
  std::map<std::string, std::string> failed_;      // by node: its incarnation that has rejected a pod for now

  struct AtGateway {
    std::string sender;
    std::optional<Answer> answer;
    std::string status_uid;
    Contents rows, releases;  // before a stale answer
    Contents of_pod;
    std::map<std::string, Row> row_by_uid;
    bool is_stale = false;
  };
  std::optional<AtGateway> at_gateway_;
  int gateway_starts_ = 0;
  std::map<std::string, std::pair<std::string, Epoch>>
      heard_of_;  // by node: what this start heard last: incarnation, at
  struct AtDevice {
    Request request;
    bool is_stale = false;
    bool must_answer = false;
    int answers = 0;
    Contents before;
  };
  std::optional<AtDevice> at_device_;
};

// The records of one table.
Contents only(const Contents& contents, Table table);

}  // namespace berth::sim
