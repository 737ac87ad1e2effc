// Devices in: state, presence, heartbeats, observed pod status; silence (core/handshake/rules.md, Silent nodes).
#include "core/api/timestamp.h"
#include "core/gateway/gateway.h"

namespace berth {

namespace {

constexpr std::size_t kMaxObservedBytes = 24 * 1024;  // an agent's is at most 16 KiB

// What of a device's report a status or a decision reads; the row says the rest.
constexpr std::string_view kObserved[] = {"epoch",   "phase", "startTime", "node", "containerStatuses",
                                          "message", "reason"};

// It stands in the pod's status, which must fit into a message: of a longer one what the row needs is kept.
Json observed_of(const Json& report, std::size_t bytes) {
  Json observed = Json::object();
  for (std::string_view key : kObserved) {
    if (bytes > kMaxObservedBytes && key == "containerStatuses") break;
    if (const Json* said = report.find(key)) observed.set(key, *said);
  }
  if (bytes > kMaxObservedBytes) {
    observed.set("message", "the node's report was larger than 24 KiB; only its phase was taken");
  }
  return observed;
}

bool is_offered_by(const PersistentVolume& volume, const std::string& node) {
  const auto found = volume.metadata.annotations.find(std::string(kOfferedBy));
  return found != volume.metadata.annotations.end() && found->second == node;
}

}  // namespace

void Gateway::on_node(const std::vector<std::string_view>& levels, const Message& message) {
  const std::string node(levels[1]);
  if (!is_valid_name(node)) return refuse(message.topic, "not a valid node name");
  if (levels.size() == 5 && levels[2] == "pods") {
    return on_pod_status(node, std::string(levels[3]) + "/" + std::string(levels[4]), message);
  }
  if (levels.size() != 3) return refuse(message.topic, "not a topic of a node");
  if (message.payload.empty()) return;  // a cleared retained message says nothing
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(message.topic, json.error().message());
  Result<NodeChange> change = NodeChange{};
  if (is_silent_return(node, levels[2], *json)) return publisher_.mark(Kind::node, node);  // it may still be shown
  if (levels[2] == "state") {
    change = nodes_.on_state(node, *json);
  } else if (levels[2] == "presence") {
    change = nodes_.on_presence(node, *json);
  } else if (levels[2] == "heartbeat") {
    change = on_heartbeat(node, *json);
  } else {
    return refuse(message.topic, "not a topic of a node");
  }
  if (!change) return refuse(message.topic, change.error().message());
  apply_change(node, *change);
}

// What a forgotten device left at the broker, or says of its end, is no return.
bool Gateway::is_silent_return(const std::string& node, std::string_view topic, const Json& payload) const {
  if (nodes_.all().contains(node) || topic == "heartbeat") return false;
  const Json* incarnation = payload.find("incarnation");
  const bool named = incarnation != nullptr && incarnation->is_string() && !incarnation->as_string().empty();
  if (!named || !is_retired(node, incarnation->as_string())) return false;
  const Json* online = payload.find("online");
  return topic == "state" || online == nullptr || *online != Json(true);
}

// Answered, so that the device can tell a live gateway from a live broker.
Result<NodeChange> Gateway::on_heartbeat(const std::string& node, const Json& payload) {
  Result<NodeChange> change = nodes_.on_heartbeat(node, payload);
  if (!change) return change;
  const DeviceNode* device = nodes_.find(node);
  const Json* incarnation = payload.find("incarnation");
  const bool unknown = device == nullptr || device->incarnation != incarnation->as_string();
  if (unknown || !device->facts_current) {
    // Birth or state were lost on the way, or this is an old message: a listing tells, by its nonce.
    nodes_.expect(node);
    if (synced_ && !listings_.contains(node)) list_node(node);
  }
  Request answer(RequestType::heartbeat);
  if (const Json* sequence = payload.find("sequence"); sequence != nullptr) {
    answer.sequence = Nodes::number(*sequence);
  }
  send_request(node, std::move(answer));
  return change;
}

void Gateway::apply_change(const std::string& node, const NodeChange& change) {
  const DeviceNode* device = nodes_.find(node);
  if (device == nullptr) return;
  if (identity_.adopting && synced_ && change.connected && !identity_.adopt_nodes.contains(node) &&
      !adopted_.contains(node) && !is_retired(node)) {
    identity_.adopt_nodes.insert(node);
    identity_changed_ = true;
  }
  if (change.facts || change.connected || change.disconnected) refresh_node(node);
  if (change.facts) refresh_local_volumes(node);
  if (change.connected && synced_) {
    list_node(node);
    resend_all(node);
  }
  if (change.connected || change.disconnected) {
    log_.write(Level::info, change.disconnected ? "node offline" : "node online",
               {{"node", node}, {"incarnation", device->incarnation}});
  }
}

void Gateway::refresh_node(const std::string& node) {
  DeviceNode* device = nodes_.find(node);
  if (device == nullptr) return;
  const std::shared_ptr<const Node> before = device->node;
  publisher_.mark(Kind::node, node);
  // A forgotten one that returns is no place for pods before it has been cleared (P9).
  if (before == nullptr && is_retired(node)) return;
  if (!nodes_.rebuild(node, objects_.overlay(node))) return;
  cache_.set_node(device->node);
  EventObjects objects;
  objects.old_node = before;
  objects.new_node = device->node;
  if (before == nullptr) return wake({EventResource::node, kAdd, "NodeAdd"}, objects);
  for (const ClusterEvent& event : node_events(*before, *device->node)) wake(event, objects);
}

// The directories that the device offers, as PersistentVolumes. One that it offers no more goes, unless it is in use.
void Gateway::refresh_local_volumes(const std::string& node) {
  std::set<std::string> offered;
  for (PersistentVolume& volume : local_volumes(node, nodes_.find(node)->facts.json())) {
    offered.insert(volume.metadata.name);
    if (auto known = objects_.volume(volume.metadata.name);
        known != nullptr && known->local_path == volume.local_path && known->capacity == volume.capacity) {
      continue;
    }
    if (auto known = objects_.volume(volume.metadata.name); known != nullptr && !is_offered_by(*known, node)) {
      // Node "a" with volume "b-c" and node "a-b" with volume "c" make one name: the first keeps it.
      refuse("volume " + volume.metadata.name, "node " + node + " offers it, but it is not that node's");
      continue;
    }
    Result<Accepted> accepted = accept_other(Kind::persistent_volume, volume.manifest, {});
    if (accepted) continue;
    refuse("volume " + volume.metadata.name, accepted.error().message());
    if (accepted.error().code() == Code::unschedulable) volumes_turned_away_.insert(node);
  }
  const std::string prefix = node + "-";
  for (const std::string& name : objects_.keys(Kind::persistent_volume)) {
    if (!name.starts_with(prefix) || offered.contains(name)) continue;
    auto volume = objects_.volume(name);
    if (!is_offered_by(*volume, node) || volume->phase != "Available" || is_reserved(name)) continue;
    erase_other(Kind::persistent_volume, name);
  }
}

// Now and then, whether or not anything seems wrong.
void Gateway::compare_now_and_then() {
  const Millis now = clock_.now();
  for (const auto& [name, device] : nodes_.all()) {
    Millis& last = compared_.try_emplace(name, now).first->second;
    if (now - last < options_.compare_ms || !device.reachable || !synced_) continue;
    last = now;
    if (!listings_.contains(name)) list_node(name);
  }
}

void Gateway::check_silence() {
  if (!link_up_) {
    // Nothing can be heard: silence is ours, not theirs.
    for (const auto& [name, device] : nodes_.all()) nodes_.find(name)->last_heard = clock_.now();
    return;
  }
  for (const std::string& node : nodes_.find_silent()) {
    log_.write(Level::warn, "node silent", {{"node", node}});
    refresh_node(node);
  }
}

// S12: only the node that the row names is believed, and only for the row's epoch.
void Gateway::on_pod_status(const std::string& node, const std::string& key, const Message& message) {
  if (message.payload.empty()) return;
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(message.topic, json.error().message());
  const Json* uid = json->find("uid");
  const Json* epoch_text = json->find("epoch");
  if (uid == nullptr || !uid->is_string()) return refuse(message.topic, "uid: a string is wanted");
  if (epoch_text == nullptr || !epoch_text->is_string()) return refuse(message.topic, "epoch: a string is wanted");
  Result<Epoch> epoch = parse_epoch(epoch_text->as_string());
  if (!epoch) return refuse(message.topic, "epoch: " + epoch.error().message());
  auto found = bindings_.find(uid->as_string());
  if (found == bindings_.end()) return;
  Binding& binding = found->second;
  if (binding.row.node != node || binding.row.epoch != *epoch || binding.row.pod != key) return;
  PodEntry* entry = objects_.find_pod(key);
  if (entry == nullptr || entry->finished) return;
  const Json observed = observed_of(*json, message.payload.size());
  Report report(observed);
  if (entry->observed == report) return;
  entry->observed = std::move(report);
  note_start(*entry, observed);
  publisher_.mark(Kind::pod, key);
  take_finished(binding);
}

// Preemption prefers victims that started last. It may hold nobody back, so that no event tells of it.
void Gateway::note_start(PodEntry& entry, const Json& observed) {
  const Json* told = observed.find("startTime");
  std::optional<std::int64_t> start;
  if (told != nullptr && told->is_string()) start = parse_timestamp(told->as_string());
  if (start == entry.pod->start_time) return;
  auto changed = std::make_shared<Pod>(*entry.pod);
  changed->start_time = start;
  replace_pod(entry, changed);
}

void Gateway::take_finished(Binding& binding) {
  if (binding.row.phase != Phase::bound) return;
  const PodEntry* entry = objects_.find_pod_by_uid(binding.row.uid);
  if (entry == nullptr) return;
  const Json observed = entry->observed.json();
  const Json* epoch = observed.find("epoch");
  const Json* phase = observed.find("phase");
  if (epoch == nullptr || phase == nullptr || *epoch != Json(to_text(binding.row.epoch))) return;
  if (*phase == Json("Succeeded") || *phase == Json("Failed")) feed(binding.row.uid, RowEvent::finished);
}

}  // namespace berth
