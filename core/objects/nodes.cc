#include "core/objects/nodes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/api/decode.h"
#include "core/api/names.h"
#include "core/api/packed.h"
#include "core/bytes.h"
#include "core/check.h"
#include "core/handshake/fields.h"
#include "core/handshake/protocol.h"
#include "core/objects/node_pressure.h"
#include "core/objects/node_record.h"
#include "core/objects/node_system_info.h"
#include "core/objects/reserved_labels.h"
#include "core/objects/volume_manifest.h"

namespace berth {

namespace {

constexpr Millis kHeartbeatMax = 3'600'000;

const Json* member(const Json& object, std::string_view key, Json::Type type) {
  const Json* found = object.find(key);
  return found != nullptr && found->type() == type ? found : nullptr;
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* found = member(object, key, Json::Type::string);
  return found == nullptr ? std::string() : found->as_string();
}

std::uint64_t number_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found == nullptr ? 0 : Nodes::number(*found);
}

Status check_identity(const std::string& name, const Json& payload) {
  if (!payload.is_object()) return Status::error("payload: expected a JSON object");
  if (const std::string said = text_of(payload, "name"); !said.empty() && said != name) {
    return Status::error("name: \"" + said + "\" is not the node of the topic, \"" + name + "\"");
  }
  // The rule of rows and requests: one of another form could be stored in a row, but not read back.
  if (!is_valid_id(text_of(payload, "incarnation"))) {
    return Status::error("incarnation: must be 1 to 128 letters, digits, '.', '_' or '-'");
  }
  return Status::ok();
}

// What scheduling and the node's status read of a state message; the rest (sequence, session) changes often and is not
// kept.
Json facts_of(const Json& payload) {
  Json facts = Json::object();
  for (std::string_view key : {"protocol", "labels", "taints", "allocatable", "images", "volumes", "volumePools",
                               "features", "certificateExpires", "certificateProblem"}) {
    if (const Json* value = payload.find(key)) facts.set(key, *value);
  }
  if (Json pressures = pressures_of(payload.find("conditions")); !pressures.is_null()) {
    facts.set("conditions", std::move(pressures));
  }
  if (Json info = node_info_of(payload.find("nodeInfo")); !info.is_null()) facts.set("nodeInfo", std::move(info));
  return facts;
}

Json taint_of(std::string_view key) { return Json::object().set("key", key).set("effect", "NoSchedule"); }

bool has_taint(const Json& taints, std::string_view key) {
  const Json::Array& all = taints.as_array();
  return std::any_of(all.begin(), all.end(), [key](const Json& taint) {
    return text_of(taint, "key") == key && text_of(taint, "effect") == "NoSchedule";
  });
}

// The host name is the node's whoever says something else: volumes are pinned by it.
Json labels_of(const std::string& name, const Json& facts, const Json* overlay) {
  Json labels = Json::object();
  labels.set(kHostnameLabel, name);
  if (const Json* own = member(facts, "labels", Json::Type::object)) {
    for (const auto& [key, value] : own->as_object()) {
      if (!is_ignored_label(name, key, value)) labels.set(key, value);
    }
  }
  const Json* metadata = overlay == nullptr ? nullptr : overlay->find("metadata");
  if (metadata != nullptr) {
    if (const Json* set = member(*metadata, "labels", Json::Type::object)) {
      for (const auto& [key, value] : set->as_object()) {
        if (key != kHostnameLabel) labels.set(key, value);
      }
    }
  }
  return labels;
}

// The keys of the gateway's taints.
std::set<std::string_view> own_taints(const DeviceNode& device) {
  std::set<std::string_view> keys;
  if (!device.reachable) keys.insert(Nodes::kUnreachableTaint);
  for (const auto& [hold, why] : device.holds) keys.insert(describe(hold).taint);
  return keys;
}

// The manifest of the effective Node.
Json merge(const std::string& name, const DeviceNode& device, const Json* overlay) {
  const Json facts = device.facts.json();
  Json metadata = Json::object();
  metadata.set("name", name);
  metadata.set("labels", labels_of(name, facts, overlay));
  Json taints = Json::array();
  if (const Json* own = member(facts, "taints", Json::Type::array)) taints = *own;
  Json spec = Json::object();
  if (const Json* overlaid = overlay == nullptr ? nullptr : overlay->find("spec")) {
    if (const Json* more = member(*overlaid, "taints", Json::Type::array)) {
      for (const Json& taint : more->as_array()) taints.push_back(taint);
    }
    if (const Json* cordoned = member(*overlaid, "unschedulable", Json::Type::boolean)) {
      spec.set("unschedulable", *cordoned);
      // node_lifecycle_controller.go doNoScheduleTaintingPass: spreading goes by taints (nodeTaintsPolicy: Honor).
      if (*cordoned == Json(true) && !has_taint(taints, Nodes::kUnschedulableTaint)) {
        taints.push_back(taint_of(Nodes::kUnschedulableTaint));
      }
    }
  }
  const bool is_served = Nodes::why_not_served(facts).empty();
  for (std::string_view key : own_taints(device)) taints.push_back(taint_of(key));
  for (std::string_view key : pressure_taints(facts.find("conditions"))) {
    if (!has_taint(taints, key)) taints.push_back(taint_of(key));
  }
  if (!is_served) taints.push_back(taint_of(Nodes::kUnsupportedTaint));
  spec.set("taints", std::move(taints));
  Json status = Json::object();
  // A pod may tolerate every taint; without resources nothing fits.
  const bool is_offered = is_served && !device.holds.contains(Hold::twins);
  if (const Json* allocatable = facts.find("allocatable"); allocatable != nullptr && is_offered) {
    status.set("allocatable", *allocatable);
  }
  if (const Json* images = facts.find("images")) status.set("images", *images);
  if (const Json* features = facts.find("features")) status.set("declaredFeatures", *features);
  if (const Json* pools = facts.find("volumePools"); pools != nullptr && is_offered) status.set("volumePools", *pools);
  Json manifest = Json::object();
  manifest.set("apiVersion", "v1");
  manifest.set("kind", "Node");
  manifest.set("metadata", std::move(metadata));
  manifest.set("spec", std::move(spec));
  manifest.set("status", std::move(status));
  return manifest;
}

// Of the last hour those are left.
void forget_old(std::vector<Millis>& times, Millis now) {
  std::erase_if(times, [now](Millis at) { return now - at >= NodeLimits::kWindowMs; });
}

std::string packed(const Node& node) {
  ByteWriter out;
  pack_node(out, node);
  return out.take();
}

void note_protocol(DeviceNode& device, const ProtocolVersion& protocol) {
  device.asks_for_answers = protocol >= kAsksForAnswers;
  device.keeps_configs = protocol >= kKeepsConfigs;
}

}  // namespace

Status Nodes::load(const RecordView& record) {
  const std::string name(record.key);
  DeviceNode& device = add(name).first;
  if (is_node_record(record.value)) {
    const Status loaded = load_packed(record, device);
    if (!loaded.is_success()) return Status::error("stored node " + name + ": " + loaded.message());
    if (device.incarnation.empty() && device.facts.is_null()) {
      if (!device.term_lead.is_zero()) left_terms_[name] = device.term_lead;
      by_name_.erase(name);
      nodes_.erase(name);
      return Status::ok();
    }
  } else {
    Result<Json> json = Json::parse(record.value, {.bytes = 1u << 20, .depth = 80});
    if (!json) return Status::error("stored node " + name + ": " + json.error().message());
    device.incarnation = text_of(*json, "incarnation");
    if (const Json* facts = member(*json, "facts", Json::Type::object))
      device.facts = Manifest::of_text(Text::common(facts->dump()));
  }
  device.facts_current = true;
  // Not known to be silent: it gets its three heartbeats from now on.
  device.reachable = !device.facts.is_null();
  device.last_heard = clock_.now();
  return Status::ok();
}

Status Nodes::load_packed(const RecordView& record, DeviceNode& device) {
  Result<NodeRecord> stored = decode_node_record(record.value);
  if (!stored) return stored.error();
  device.incarnation = std::move(stored->incarnation);
  device.term_lead = stored->term_lead;
  if (!stored->fixed_term.is_zero()) fixed_terms_[std::string(record.key)] = stored->fixed_term;
  if (stored->facts.empty()) return Status::ok();
  device.facts = Manifest::of_text(Text::common(stored->facts));
  if (stored->packed.empty() || !is_node_packed_alike(stored->packed)) return Status::ok();
  auto node = std::make_shared<Node>();
  if (!unpack_node(stored->packed, *node)) return Status::error("its packed form is damaged");
  device.read = std::move(node);
  return Status::ok();
}

void Nodes::save(const std::string& name) {
  const DeviceNode& device = nodes_.at(name);
  NodeRecord record;
  record.incarnation = device.incarnation;
  record.term_lead = device.term_lead;
  ByteWriter packed;
  if (!device.facts.is_null()) {
    // As a start will find it: without an overlay, and not known to be silent.
    DeviceNode plain;
    plain.facts = device.facts;
    plain.reachable = true;
    if (const Result<Node> node = decode_node(merge(name, plain, nullptr), nullptr)) pack_node(packed, *node);
  }
  record.facts = device.facts.text();
  record.packed = packed.bytes();
  store_.put(Table::node, name, encode(record));
  deferred_writes_.erase(name);
}

void Nodes::save_deferred() {
  for (const std::string& name : std::exchange(deferred_writes_, {})) save(name);
}

Result<NodeChange> Nodes::on_state(const std::string& name, const Json& payload) {
  if (Status identity = check_identity(name, payload); !identity.is_success()) return identity;
  const std::string incarnation = text_of(payload, "incarnation");
  const Result<ProtocolVersion> protocol = read_protocol(payload.find("protocol"));
  if (!protocol) return protocol.error();
  Json facts = facts_of(payload);
  // Tried on a copy first: what cannot be a Node changes nothing.
  DeviceNode trial;
  trial.facts = Manifest::of_text(Text::common(facts.dump()));
  const Result<Node> node = decode_node(merge(name, trial, nullptr), nullptr);
  if (!node) return node.error();
  for (const PersistentVolume& volume : local_volumes(name, facts)) {
    if (!is_valid_name(volume.metadata.name)) return Status::error("volumes: name: not a valid object name");
  }

  DeviceNode& device = expect(name);
  const std::uint64_t session = number_of(payload, "session");
  const std::uint64_t sequence = number_of(payload, "sequence");
  const bool same = device.incarnation == incarnation;
  if (same && std::pair(session, sequence) < std::pair(device.state_session, device.state_sequence)) {
    return NodeChange{};  // an older message, delivered late
  }
  if (const std::string excess = find_excess(limits_, facts, node->allocatable); !excess.empty()) {
    return NodeChange{.quarantine = set_hold(name, Hold::state, excess)};
  }
  if (!same && !may_change_incarnation(name)) return refuse_incarnation(name);
  const bool is_known = same && device.facts_current && !device.facts.is_null();
  states_put_off_.erase(name);
  if (is_known && device.facts != trial.facts) {
    // Each is written, and scheduling looks at it again.
    if (!may_change_state(name)) {
      // What comes late is older still than the one that waits.
      device.state_session = session;
      device.state_sequence = sequence;
      states_put_off_.insert_or_assign(name, payload);
      return NodeChange{.quarantine = set_hold(name, Hold::state, {})};
    }
    std::vector<Millis>& times = states_[name];
    if (times.size() == NodeLimits::kStates) times.erase(times.begin());
    times.push_back(clock_.now());
  }
  device.facts_current = true;
  note_protocol(device, *protocol);
  device.state_session = session;
  device.state_sequence = sequence;
  if (!same) device.session = 0;
  if (const std::uint64_t beat = number_of(payload, "heartbeatMs"); beat > 0) {
    device.heartbeat_ms = static_cast<Millis>(std::clamp<std::uint64_t>(beat, 100, kHeartbeatMax));
    none_silent_until_ = std::min(none_silent_until_, device.last_heard + kMissedHeartbeats * device.heartbeat_ms);
  }
  NodeChange change;
  if (const std::string why = text_of(payload, "storeLost"); !is_known && is_valid_id(why)) change.store_lost = why;
  change.quarantine = set_hold(name, Hold::state, {});
  const std::string said = text_of(payload, "refusals");
  const std::string refusals = is_valid_id(said) ? said : std::string();
  change.refusals = std::exchange(device.refusals, refusals) != refusals;
  if (!same || device.facts != trial.facts) {
    device.incarnation = incarnation;
    device.facts = std::move(trial.facts);
    device.read = nullptr;
    change.facts = true;
    if (is_known && saving_writes_) {
      deferred_writes_.insert(name);
    } else {
      save(name);
    }
  }
  change.connected = !same;
  return change;
}

bool Nodes::may_change_state(const std::string& name) const {
  const auto times = states_.find(name);
  return times == states_.end() || times->second.size() < NodeLimits::kStates ||
         clock_.now() - times->second.front() >= NodeLimits::kStatesMs;
}

std::vector<std::string> Nodes::states_due() const {
  std::vector<std::string> due;
  for (const auto& [name, payload] : states_put_off_) {
    if (may_change_state(name)) due.push_back(name);
  }
  return due;
}

Result<NodeChange> Nodes::take_state_put_off(const std::string& name) {
  const Json payload = std::move(states_put_off_.at(name));
  return on_state(name, payload);
}

Result<NodeChange> Nodes::on_presence(const std::string& name, const Json& payload) {
  if (Status identity = check_identity(name, payload); !identity.is_success()) return identity;
  const Json* online = member(payload, "online", Json::Type::boolean);
  if (online == nullptr) return Status::error("online: expected true or false");
  const std::string incarnation = text_of(payload, "incarnation");
  const std::uint64_t session = number_of(payload, "session");
  DeviceNode& device = expect(name);
  if (device.incarnation == incarnation && session < device.session) return NodeChange{};  // an older one never wins
  if (!online->as_bool()) {
    // A will of another incarnation says nothing of this one.
    if (device.incarnation != incarnation) return NodeChange{};
    device.session = session;
    if (!device.reachable) return NodeChange{};
    device.reachable = false;
    return NodeChange{.disconnected = true};
  }
  if (device.incarnation != incarnation && !may_change_incarnation(name)) return refuse_incarnation(name);
  const bool news = device.incarnation != incarnation || session > device.session || !device.reachable;
  if (device.incarnation != incarnation) {
    device.incarnation = incarnation;
    states_put_off_.erase(name);
    device.facts_current = false;
    device.state_session = 0;
    device.state_sequence = 0;
    save(name);
  }
  device.session = session;
  device.boot_id = text_of(payload, "bootId");
  note_return(device);
  return NodeChange{.connected = news};
}

Result<NodeChange> Nodes::on_heartbeat(const std::string& name, const Json& payload) {
  if (Status identity = check_identity(name, payload); !identity.is_success()) return identity;
  return on_sign_of_life(name, text_of(payload, "incarnation"));
}

NodeChange Nodes::on_sign_of_life(const std::string& name, const std::string& incarnation) {
  DeviceNode* device = find(name);
  if (device == nullptr || device->incarnation != incarnation) return {};
  const bool was_reachable = device->reachable;
  note_return(*device);
  return NodeChange{.connected = !was_reachable};
}

void Nodes::note_return(DeviceNode& device) {
  device.last_heard = clock_.now();
  if (std::exchange(device.reachable, true)) return;
  none_silent_until_ = std::min(none_silent_until_, device.last_heard + kMissedHeartbeats * device.heartbeat_ms);
  none_due_before_ = 0;
}

std::pair<DeviceNode&, bool> Nodes::add(const std::string& name) {
  const auto [node, is_first] = nodes_.try_emplace(name);
  if (is_first) {
    by_name_.emplace(node->first, &node->second);
    none_due_before_ = 0;
  }
  return {node->second, is_first};
}

DeviceNode& Nodes::expect(const std::string& name) {
  const auto [node, is_first] = add(name);
  const auto left = left_terms_.find(name);
  if (is_first && left != left_terms_.end()) {
    node.term_lead = left->second;
    left_terms_.erase(left);
  }
  return node;
}

std::vector<std::string> Nodes::find_silent() {
  std::vector<std::string> silent;
  const Millis now = clock_.now();
  if (now <= none_silent_until_) return silent;
  none_silent_until_ = now + kMissedHeartbeats * kHeartbeatMax;
  for (auto& [name, device] : nodes_) {
    if (!device.reachable) continue;
    const Millis until = device.last_heard + kMissedHeartbeats * device.heartbeat_ms;
    if (now <= until) {
      none_silent_until_ = std::min(none_silent_until_, until);
      continue;
    }
    device.reachable = false;
    silent.push_back(name);
  }
  return silent;
}

std::vector<std::string> Nodes::find_due(Millis every) {
  std::vector<std::string> due;
  const Millis now = clock_.now();
  if (now < none_due_before_) return due;
  none_due_before_ = now + every;
  for (auto& [name, device] : nodes_) {
    if (device.compared == 0) device.compared = now;
    if (!device.reachable) continue;  // none_due_before_ follows its return
    if (now - device.compared < every) {
      none_due_before_ = std::min(none_due_before_, device.compared + every);
      continue;
    }
    device.compared = now;
    due.push_back(name);
  }
  return due;
}

void Nodes::erase(const std::string& name) {
  deferred_writes_.erase(name);
  incarnations_.erase(name);
  states_.erase(name);
  states_put_off_.erase(name);
  const auto known = nodes_.find(name);
  const TermLead raised = known == nodes_.end() ? TermLead{} : known->second.term_lead;
  by_name_.erase(name);
  nodes_.erase(name);
  if (raised.is_zero()) return store_.erase(Table::node, name);
  left_terms_[name] = raised;
  save_left_term(name);
}

void Nodes::save_left_term(const std::string& name) {
  NodeRecord record;
  record.term_lead = left_terms_.at(name);
  store_.put(Table::node, name, encode(record));
}

std::string Nodes::why_not_served(const Json& facts) {
  const Result<ProtocolVersion> protocol = read_protocol(facts.find("protocol"));
  return protocol ? berth::why_not_served(kProtocol, *protocol) : protocol.error().message();
}

bool Nodes::is_answer_due(const DeviceNode* device, const Json& heartbeat) {
  if (device == nullptr || !device->facts_current || !device->asks_for_answers) return true;
  const Json* answer = heartbeat.find("answer");
  return answer != nullptr && *answer == Json(true);
}

Json Nodes::manifest(const std::string& name, const Json* overlay) const {
  return merge(name, nodes_.at(name), overlay);
}

bool Nodes::rebuild(const std::string& name, const Json* overlay) {
  DeviceNode& device = nodes_.at(name);
  if (device.facts.is_null()) return false;
  std::shared_ptr<const Node> next = std::exchange(device.read, nullptr);
  if (next == nullptr || overlay != nullptr || !own_taints(device).empty()) {
    Result<Node> node = decode_node(merge(name, device, overlay), nullptr);
    if (!node) return false;  // facts and overlay were each checked when they came
    node->manifest = {};
    share_parts(*node);
    next = std::make_shared<const Node>(std::move(*node));
  }
  if (device.node != nullptr && packed(*device.node) == packed(*next)) return false;
  device.node = std::move(next);
  return true;
}

bool Nodes::set_hold(const std::string& name, Hold hold, const std::string& why) {
  DeviceNode* device = find(name);
  if (device == nullptr) return false;
  if (why.empty()) return device->holds.erase(hold) > 0;
  std::string& known = device->holds[hold];
  if (known == why) return false;
  known = why;
  return true;
}

NodeChange Nodes::set_incarnation(const std::string& name, const std::string& incarnation) {
  DeviceNode& device = nodes_.at(name);
  if (!may_change_incarnation(name)) return refuse_incarnation(name);
  device.incarnation = incarnation;
  states_put_off_.erase(name);
  device.facts_current = false;
  device.session = 0;
  device.state_session = 0;
  device.state_sequence = 0;
  note_return(device);
  save(name);
  return NodeChange{.connected = true};
}

// Each is written. The first one that is heard of is no change.
bool Nodes::may_change_incarnation(const std::string& name) {
  if (nodes_.at(name).incarnation.empty()) return true;
  std::vector<Millis>& times = incarnations_[name];
  forget_old(times, clock_.now());
  if (times.size() >= limits_.incarnations_per_hour) return false;
  times.push_back(clock_.now());
  return true;
}

NodeChange Nodes::refuse_incarnation(const std::string& name) {
  const std::string why = excess_text("it came with one new incarnation after another", "incarnations_per_hour",
                                      std::to_string(limits_.incarnations_per_hour));
  return NodeChange{.quarantine = set_hold(name, Hold::incarnations, why)};
}

std::vector<std::string> Nodes::end_incarnation_holds() {
  std::vector<std::string> ended;
  for (auto at = incarnations_.begin(); at != incarnations_.end();) {
    auto& [name, times] = *at;
    forget_old(times, clock_.now());
    if (times.size() < limits_.incarnations_per_hour && set_hold(name, Hold::incarnations, {})) ended.push_back(name);
    at = times.empty() ? incarnations_.erase(at) : std::next(at);
  }
  return ended;
}

GatewayId Nodes::id_towards(const std::string& name, const GatewayId& own) const {
  const auto found = nodes_.find(name);
  return {own.term + (found == nodes_.end() ? 0 : found->second.term_lead.lead), own.store_id};
}

void Nodes::raise_term(const std::string& name, std::uint64_t other, const GatewayId& own) {
  CHECK(other >= id_towards(name, own).term);
  nodes_.at(name).term_lead = {other + 1 - own.term, store_.next_position()};
  save(name);
}

void Nodes::take_fixed_terms(std::uint64_t own) {
  for (const auto& [name, fixed] : std::exchange(fixed_terms_, {})) {
    const TermLead lead{fixed.term > own ? fixed.term - own : 0, fixed.counter};
    if (DeviceNode* device = find(name); device != nullptr) {
      device->term_lead = lead;
      save(name);
    } else {
      left_terms_[name] = lead;
      save_left_term(name);
    }
  }
}

bool Nodes::is_given(const std::string& name, const Epoch& epoch, const TermHistory& own) const {
  const auto found = nodes_.find(name);
  const TermLead raised = found == nodes_.end() ? TermLead{} : found->second.term_lead;
  if (epoch.term < raised.lead || epoch.counter < raised.since) return false;
  return own.origin_of({epoch.term - raised.lead, epoch.counter}, store_.next_position()) == EpochOrigin::ours;
}

std::uint64_t Nodes::number(const Json& json) {
  if (json.is_integer() && json.as_int() >= 0) return static_cast<std::uint64_t>(json.as_int());
  std::uint64_t value = 0;
  if (json.is_string()) {
    const std::string& text = json.as_string();
    std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return value;
}

DeviceNode* Nodes::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<PersistentVolume> local_volumes(const std::string& node, const Json& facts) {
  std::vector<PersistentVolume> volumes;
  const Json* list = member(facts, "volumes", Json::Type::array);
  if (list == nullptr) return volumes;
  for (const Json& entry : list->as_array()) {
    const std::string storage_class = text_of(entry, "storageClass");
    const Json manifest = manifest_of({node + "-" + text_of(entry, "name"), node,
                                       storage_class.empty() ? "local" : storage_class, text_of(entry, "path"),
                                       text_of(entry, "capacity"), "Retain", Json(Json::Array{Json("ReadWriteOnce")}),
                                       Json(Json::Object{{std::string(kOfferedBy), Json(node)}})});
    if (Result<PersistentVolume> volume = decode_persistent_volume(manifest, nullptr)) {
      volumes.push_back(std::move(*volume));
    }
  }
  return volumes;
}

bool is_offered_by(const PersistentVolume& volume, const std::string& node) {
  const auto found = volume.metadata.annotations.find(std::string(kOfferedBy));
  return found != volume.metadata.annotations.end() && found->second == node;
}

}  // namespace berth
