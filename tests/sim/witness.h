// Witness: sees every commit, every message that leaves and every delivery, decodes them once, and remembers what the
// invariants need to know of the past. It asks no program for anything but a live gateway's cache and queue.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/records.h"
#include "core/cache/node_info.h"
#include "core/gateway/gateway.h"
#include "core/handshake/messages.h"
#include "core/handshake/row.h"
#include "storage/change.h"
#include "tests/sim/record_ids.h"
#include "tests/sim/sim_runtime.h"

namespace berth::sim {

// What is on one device's flash, and on its machine.
struct DeviceSight {
  std::string name;
  bool hostile = false;  // it lies: nothing is promised of what it runs
  Resources allocatable;
  const SimRuntime* runtime = nullptr;
  Contents contents;
  AgentRecords durable;
  struct Promise {
    Epoch epoch;
    Millis since = 0;  // on the machine's clock, when a turn of its agent ended with it
    int boots = 0;
  };
  std::map<std::string, Promise> promises;                  // by uid: slots preparing or prepared
  std::map<std::string, std::pair<Epoch, Demand>> demands;  // by uid: of the slot with this epoch
};

// What is on the gateway's flash.
struct GatewaySight {
  Contents contents;
  bool has_store = false;  // false: never booted, or wiped and not yet started again
  GatewayId id;
  bool adopting = false;
  std::set<std::string> orphans;
  std::set<std::string> retired;                 // "<node>/<incarnation>": forgotten, not cleared yet (P9)
  std::map<std::string, Row> rows;               // by uid
  std::map<std::string, ReleaseEntry> releases;  // by "<node>/<uid>/<epoch>"
  std::set<std::string> rows_with_volumes;       // uids
  struct Half {                                  // of a binding
    std::string bound_to;                        // a claim's volume, a volume's claim; empty: none
    std::string phase;
  };
  std::map<std::string, Half> claims, volumes;  // by key
  const Gateway* alive = nullptr;               // null: no process

  bool has_retired(const std::string& node, const std::string& incarnation) const {
    return retired.contains(node + "/" + incarnation) || retired.contains(node + "/");
  }
  bool is_settled() const { return has_store && !adopting; }
};

using Named = std::pair<std::string, Epoch>;  // uid and epoch: one placement

struct SentBind {
  Named named;
  std::string node;
  std::string incarnation;  // whom it is meant for
};

class Witness {
 public:
  DeviceSight& add_device(const std::string& name, Resources allocatable, const SimRuntime& runtime);
  const std::vector<std::unique_ptr<DeviceSight>>& devices() const { return devices_; }
  const DeviceSight* device(const std::string& name) const;
  void set_hostile(const std::string& name);
  const GatewaySight& gateway() const { return gateway_; }
  void set_gateway(const Gateway* gateway) { gateway_.alive = gateway; }

  // The flash may have changed; in these records only, when they are given.
  void read_gateway(const Contents& contents, const RecordIds* touched = nullptr);
  void read_device(const std::string& name, const Contents& contents, const RecordIds* touched = nullptr);

  void gateway_sent(const std::string& node, const Request& request, Millis now);
  // This was first asked so short a time ago that its answer may still be on the way.
  bool is_fresh(RequestType type, const Named& named, Millis now) const;
  // A message about this pod, in the turn that is running; turn_ended() forgets them.
  void gateway_heard_of_pod(const std::string& key) { ++heard_in_turn_[key]; }
  // Driven out for another pod, in the turn that is running.
  void gateway_preempted(const std::string& key) { preempted_.insert(key); }
  // Judges what only the whole turn tells.
  void judge_turn();
  void turn_ended() { heard_in_turn_.clear(), preempted_.clear(); }
  void gateway_answered_client(const std::string& payload);
  void device_sent(const Answer& answer);
  // With the uid that its epoch is of, where it says none.
  Answer named(Answer answer) const;
  // A turn of its agent has ended well, at this time of the machine's clock, which begins anew with each of its boots.
  void device_turned(const std::string& name, Millis now, int boots);
  // Such a turn, of an agent that has swept what it found: its machine holds only what slots name.
  void judge_holdings(const std::string& name);

  void gateway_received(const Answer& answer);

  // One message is about to be handled in a turn of its own, and now has been. Not called when the program crashed.
  void before_gateway_message(const std::string& sender, const std::optional<Answer>& answer,
                              const std::string& status_uid);
  void after_gateway_message();
  void before_device_message(const std::string& node, const Request& request, bool ready);
  void after_device_message(const std::string& node);
  void forget_message() { at_gateway_.reset(), at_device_.reset(); }

  // What happened since the last check.
  struct News {
    std::vector<Row> begun;                                // rows with an epoch never seen before
    std::map<std::string, Epoch> highest_seen_by_devices;  // at that moment, by node
    std::vector<std::string> conflicting_epochs;           // S2, said in words
    std::vector<SentBind> binds_sent;
    std::vector<std::string> repeated_epochs;         // S1, said in words
    std::vector<std::string> stale_changes;           // S6, said in words
    std::vector<std::string> accepted_without_flash;  // S11, said in words
    std::vector<std::string> foreign_changes;         // S12, said in words
    std::vector<std::string> overdue_promises;        // N5, said in words
    std::vector<std::string> held_without_slot;       // HELD, said in words
  };
  const News& news() const { return news_; }
  // What the checks are to look at: what changed since the last one, or everything, which then is in these sets.
  struct Scope {
    bool everything = false;
    std::set<std::string> slots;  // nodes whose slots changed
    std::set<std::string> rows;   // nodes whose rows or release list changed
    std::set<std::string> uids;   // of pods whose row, release, slot, workload or final answers changed
    std::set<std::string> pods;   // keys of pods whose object or row changed
    bool volumes = false;         // claims, volumes, or who holds them changed
  };
  const Scope& scope() const { return scope_; }
  void look_at_everything();
  void touch_workload(const std::string& uid) { scope_.uids.insert(uid); }
  void checked() { news_ = {}, scope_ = {}; }

  bool was_bind_durable(const Named& named) const { return bind_durable_.contains(named); }
  bool was_prebound_received(const Named& named) const { return prebound_received_.contains(named); }
  // The operator forgot this node after this placement was made there: it may run elsewhere as well (S4).
  bool was_forgotten(const std::string& node, const Named& named) const {
    return forgotten_.contains({named.first, named.second, node});
  }
  struct Final {
    AnswerType type;
    Epoch epoch;
    std::string incarnation;  // that said it
  };
  // By node and uid: every final answer that was sent.
  const std::map<std::pair<std::string, std::string>, std::vector<Final>>& finals() const { return finals_; }
  std::uint64_t binds() const { return binds_; }
  // Rows begun since, by uid.
  const std::map<std::string, int>& attempts() const { return attempts_; }
  void count_attempts_anew() { attempts_.clear(); }
  // PreBind, Bind and Release sent since; and those of them that had been sent long before.
  std::uint64_t requests_sent() const { return requests_sent_; }
  std::uint64_t stubborn_requests() const { return stubborn_requests_; }

 private:
  void read_gateway_record(const Contents& contents, const std::pair<Table, std::string>& id,
                           std::vector<Row>& changed);
  void gateway_record_gone(const std::pair<Table, std::string>& id);
  void touch_row(const Row& row);
  void touch_release(const ReleaseEntry& entry);
  void volume_record_changed(const std::string& key, const std::string& manifest);
  void gateway_record_changed(const Contents::value_type& record, std::vector<Row>& changed);
  void note_row(const Row& row);
  void note_forgotten(const std::string& node);
  void note_epoch(const GatewayId& id, const Epoch& epoch, const std::string& uid, const std::string& node);
  // `incarnation` empty: whichever said it.
  bool is_final(const std::string& node, const Named& named, const std::string& incarnation) const;

  std::vector<std::unique_ptr<DeviceSight>> devices_;
  GatewaySight gateway_;
  News news_;
  Scope scope_;
  std::map<std::pair<std::string, Epoch>, std::pair<std::string, std::string>> owner_of_;  // store, epoch: uid, node
  std::map<std::string, Epoch> last_begun_;                                                // by store id
  std::set<std::tuple<std::string, Epoch, std::string>> placements_;                       // uid, epoch, node
  std::set<std::tuple<std::string, Epoch, std::string>> forgotten_;  // likewise: those of a node when it was forgotten
  std::set<Named> bind_durable_, prebound_received_;
  std::set<std::string> durable_uids_;
  std::map<std::string, int> heard_in_turn_;  // by key
  std::map<std::pair<std::string, std::string>, std::vector<Final>> finals_;
  std::map<std::string, int> attempts_;
  std::uint64_t binds_ = 0;
  std::uint64_t requests_sent_ = 0;
  std::uint64_t stubborn_requests_ = 0;
  std::map<std::pair<RequestType, Named>, Millis> asked_;  // when first
  std::set<std::string> preempted_;
  std::vector<std::pair<std::string, std::string>> accepted_;  // in this turn: key, and what is wrong with that

  struct AtGateway {
    std::string sender;
    std::optional<Answer> answer;
    std::string status_uid;
    Contents rows, releases;  // of a stale answer
    Contents of_pod;
    std::map<std::string, Row> row_by_uid;
    bool is_stale = false;
  };
  std::optional<AtGateway> at_gateway_;
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
