// Nodes: what the gateway knows of each device: its facts (nodes/<n>/state), incarnation, presence and heartbeats, and
// the Node object that scheduling reads: facts, then the operator's overlay (which wins), then the gateway's taints.
// Labels that a device may not give itself do not count (reserved_labels.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/api/manifest.h"
#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/clock.h"
#include "core/handshake/term_history.h"
#include "core/json/json.h"
#include "core/log.h"
#include "core/objects/node_holds.h"
#include "core/objects/node_limits.h"
#include "core/objects/node_record.h"
#include "core/store.h"

namespace berth {

// What the next heartbeat of a device may repeat, and then says no more than that it lives
// (core/placement/routine_heartbeats.h).
struct Routine {
  bool is_known = false;
  Epoch at;             // how far its store has come
  Millis heard_at = 0;  // the last one that repeated it; 0: none
};

struct DeviceNode {
  // First what a heartbeat looks at: with thousands of nodes, none of it is in the processor's caches.
  std::string incarnation;  // of the last state or presence believed
  Millis last_heard = 0;
  Routine routine;
  bool facts_current = false;  // facts are of this incarnation
  bool reachable = false;
  bool keeps_configs = false;     // as said by the facts' protocol, if these are current: kKeepsConfigs
  bool asks_for_answers = false;  // as said by the facts' protocol, if these are current: kAsksForAnswers
  Text boot_id;
  TermLead term_lead;
  Text taken_over;            // which other gateway it obeyed within the last hour, for people
  std::uint64_t session = 0;  // presence: an older one never wins
  std::uint64_t state_session = 0, state_sequence = 0;  // state: likewise, in this order
  Manifest facts;       // as reported, what scheduling reads; null: never seen, known by overlay or configuration only
  Text refusals;        // of the last state: what it has refused under another id it may take now (D6); empty: unsaid
  Millis compared = 0;  // when find_due() named it last, or saw it first; 0: it has not
  Millis heartbeat_ms = 5000;        // as the device promised
  Holds holds;                       // the gateway's own taints
  std::shared_ptr<const Node> node;  // effective, without a manifest; null without facts
  std::shared_ptr<const Node> read;  // from the store, as the facts alone make it; null once node was made
};

// What a message changed.
struct NodeChange {
  bool facts = false;      // scheduling must look again
  bool connected = false;  // came (back): resend and compare
  bool disconnected = false;
  bool refusals = false;        // DeviceNode::refusals
  bool quarantine = false;      // began, ended, or has another reason
  std::string store_lost = {};  // the device has a new store, since what it had was lost for this reason
  bool operator==(const NodeChange&) const = default;
};

class Nodes {
 public:
  static constexpr int kMissedHeartbeats = 3;
  static constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
  static constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
  static constexpr std::string_view kUnsupportedTaint = "node.berth/unsupported-protocol";

  Nodes(Store& store, const Clock& clock, const NodeLimits& limits = {})
      : store_(store), clock_(clock), limits_(limits) {}

  Status load(const RecordView& record);
  // Each takes a decoded payload from the node's own topic; an error says what was wrong and changes nothing.
  Result<NodeChange> on_state(const std::string& name, const Json& payload);
  // Names of nodes whose newest state was put off, since they change it too often, and may be taken now.
  std::vector<std::string> states_due() const;
  Result<NodeChange> take_state_put_off(const std::string& name);
  Result<NodeChange> on_presence(const std::string& name, const Json& payload);
  Result<NodeChange> on_heartbeat(const std::string& name, const Json& payload);
  // Any other authenticated message of that incarnation is a sign of life too.
  NodeChange on_sign_of_life(const std::string& name, const std::string& incarnation);
  // Known from the operator's overlay or list; it has not been heard from yet.
  DeviceNode& expect(const std::string& name);
  // Names of nodes that fell silent since: presence is not needed for that.
  std::vector<std::string> find_silent();
  // Names of reachable nodes, each once in `every`, first when it has been known for so long.
  std::vector<std::string> find_due(Millis every);
  void erase(const std::string& name);
  // While set, what a known incarnation reports again is not written: it reports that after every start of its own.
  void save_writes(bool saving) { saving_writes_ = saving; }
  // What was not written.
  void save_deferred();

  // Why nothing is placed on a device with these facts: the protocol it speaks. Empty: it is served.
  static std::string why_not_served(const Json& facts);
  // Whether a heartbeat is to be answered. Null: nothing is known of its device.
  static bool is_answer_due(const DeviceNode* device, const Json& heartbeat);
  // The JSON of the effective Node; there are facts.
  Json manifest(const std::string& name, const Json* overlay) const;
  // Rebuilds the effective Node with this overlay (null: none). Returns true when scheduling sees a difference.
  bool rebuild(const std::string& name, const Json* overlay);

  // Keeps pods away from the node for this reason; empty: no more. True: that is news, and the node is to be rebuilt.
  bool set_hold(const std::string& name, Hold hold, const std::string& why);
  // It is known by this incarnation from now on, unless it had too many within the hour.
  NodeChange set_incarnation(const std::string& name, const std::string& incarnation);
  // Names of nodes that were quarantined for that and may have a new one again.
  std::vector<std::string> end_incarnation_holds();
  // As whom the gateway `own` speaks to this node: as itself, but under a higher term where others gave it one.
  GatewayId id_towards(const std::string& name, const GatewayId& own) const;
  // From now on under a term above `other`, which is not below that so far, durably. Other nodes are not concerned.
  void raise_term(const std::string& name, std::uint64_t other, const GatewayId& own);
  // Once after all records are loaded: what an earlier program kept of terms leads `own`, the last one, from now on.
  void take_fixed_terms(std::uint64_t own);
  // The store, with this history of its own terms, gave the epoch to the node. Of those from before its term was raised
  // last that is not known: whoever gave the node the other term may have given them.
  bool is_given(const std::string& name, const Epoch& epoch, const TermHistory& own) const;
  DeviceNode* find(std::string_view name);
  // A 64-bit number as it travels: a string of digits, or a small plain number; else 0.
  static std::uint64_t number(const Json& json);
  const std::map<std::string, DeviceNode>& all() const { return nodes_; }
  const std::map<std::string, TermLead>& left_terms() const { return left_terms_; }

 private:
  std::pair<DeviceNode&, bool> add(const std::string& name);  // true: it was not known
  void note_return(DeviceNode& device);
  Status load_packed(const RecordView& record, DeviceNode& device);
  void save(const std::string& name);
  void save_left_term(const std::string& name);
  bool may_change_incarnation(const std::string& name);
  NodeChange refuse_incarnation(const std::string& name);
  bool may_change_state(const std::string& name) const;

  Store& store_;
  const Clock& clock_;
  NodeLimits limits_;
  std::map<std::string, DeviceNode> nodes_;
  std::unordered_map<std::string_view, DeviceNode*> by_name_;  // all of nodes_, for a look at each message
  // Before these no node is silent, and none due. They are asked for every second, and most often it is far too early.
  Millis none_silent_until_ = 0, none_due_before_ = 0;
  // Of nodes that were forgotten under a term of their own, for when they return: what was sent to them under that term
  // may still arrive, and must not be above the floor (P9). Durable as records without an incarnation.
  std::map<std::string, TermLead> left_terms_;
  std::map<std::string, Epoch> fixed_terms_;
  bool saving_writes_ = false;
  std::map<std::string, std::vector<Millis>> incarnations_;  // by node: when new ones came, within the last hour
  std::set<std::string> deferred_writes_;                    // nodes whose record is behind
  std::map<std::string, std::vector<Millis>> states_;        // by node: when the last changed ones came
  std::map<std::string, Json> states_put_off_;               // by node: the newest
};

bool is_offered_by(const PersistentVolume& volume, const std::string& node);

// The local volumes in a node's facts as PersistentVolumes named "<node>-<volume>", bound to the node by affinity.
std::vector<PersistentVolume> local_volumes(const std::string& node, const Json& facts);

}  // namespace berth
