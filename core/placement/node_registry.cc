#include "core/placement/node_registry.h"

#include "core/placement/retired.h"

namespace berth {

namespace {

// How far the device's store has come; zero: it does not say.
Result<Epoch> store_position_of(const Json& report) {
  const Json* at = report.find("at");
  if (at == nullptr) return Epoch{};
  const Result<Epoch> position = parse_epoch(at->is_string() ? at->as_string() : "");
  return position ? position : Status::error("at: must be \"<run>.<position>\", two numbers");
}

}  // namespace

Status NodeRegistry::take_report(const std::string& node, std::string_view what, const Json& payload) {
  if (is_silent_return(node, what, payload)) {
    context_.publisher.mark(Kind::node, node);  // its status may still be retained
    return Status::ok();
  }
  const Result<Epoch> at = store_position_of(payload);
  if (!at) return at.error();
  if (what != "heartbeat" && is_of_twin(node, payload.string_at("incarnation"))) return Status::ok();
  Result<NodeChange> change = NodeChange{};
  if (what == "state") {
    change = context_.nodes.on_state(node, payload);
  } else if (what == "presence") {
    change = context_.nodes.on_presence(node, payload);
  } else if (what == "heartbeat") {
    change = take_heartbeat(node, payload);
  } else {
    return Status::error("not a topic of a node");
  }
  if (!change) return change.error();
  const DeviceNode* device = context_.nodes.find(node);
  const Json* incarnation = payload.find("incarnation");
  const bool is_news = device != nullptr && device->incarnation == incarnation->as_string() &&
                       parts_.listings.runs().note(node, device->incarnation, *at);
  // Of a heartbeat that changes nothing, nothing follows either: what time changes follows each second.
  if (what != "heartbeat" || *change != NodeChange{}) apply_change(node, *change);
  if (is_news && !change->connected) compare(node);
  return Status::ok();
}

// D5: while two devices alternate, the node stays the one that it was, and nothing is written each time.
bool NodeRegistry::is_of_twin(const std::string& node, const std::string& incarnation) const {
  const DeviceNode* device = context_.nodes.find(node);
  return device != nullptr && device->incarnation != incarnation && device->holds.contains(Hold::twins);
}

void NodeRegistry::take_states_put_off() {
  for (const std::string& node : context_.nodes.states_due()) {
    if (const Result<NodeChange> change = context_.nodes.take_state_put_off(node)) apply_change(node, *change);
  }
}

// What a forgotten device left at the broker, or its will, does not mean that it has returned.
bool NodeRegistry::is_silent_return(const std::string& node, std::string_view what, const Json& payload) const {
  if (what == "heartbeat" || context_.nodes.find(node) != nullptr) return false;
  const Json* incarnation = payload.find("incarnation");
  const bool named = incarnation != nullptr && incarnation->is_string() && !incarnation->as_string().empty();
  if (!named || !is_retired(*context_.identity, node, incarnation->as_string())) return false;
  const Json* online = payload.find("online");
  return what == "state" || online == nullptr || *online != Json(true);
}

// An answer shows the device that the gateway lives, and not the broker alone, and has it say whether it obeys another.
Result<NodeChange> NodeRegistry::take_heartbeat(const std::string& node, const Json& payload) {
  Result<NodeChange> change = context_.nodes.on_heartbeat(node, payload);
  if (!change) return change;
  const DeviceNode* device = context_.nodes.find(node);
  const Json* incarnation = payload.find("incarnation");
  const bool unknown = device == nullptr || device->incarnation != incarnation->as_string();
  // What a quarantined one says was not lost, it is not believed: asked for it at each heartbeat it would only repeat
  // it.
  const auto is_believed = [device] { return device == nullptr || quarantine_of(device->holds).empty(); };
  if ((unknown || !device->facts_current) && is_believed()) {
    // Birth or state were lost on the way, or this is an old message: a listing with an id of its own decides.
    context_.nodes.expect(node);
    if (context_.mirror.barrier().is_synced() && !parts_.listings.is_open(node)) parts_.listings.start(node);
  }
  // An unknown incarnation is answered with a request for the known one, which brings its Hello.
  if (!unknown && !Nodes::is_answer_due(device, payload)) return change;
  Request answer(RequestType::heartbeat);
  if (const Json* sequence = payload.find("sequence"); sequence != nullptr) {
    answer.sequence = Nodes::number(*sequence);
  }
  parts_.sender.send(node, std::move(answer), {}, Floor::leave);
  return change;
}

void NodeRegistry::apply_change(const std::string& node, const NodeChange& change) {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr) return;
  backoff_.note_incarnation(node, device->incarnation);
  parts_.refusals.note_incarnation(node, device->incarnation);
  if (change.refusals) parts_.refusals.end_lasting(node);
  if (change.facts) parts_.refusals.forget(node);
  hold_back(node);
  if (change.quarantine) note_quarantine(node);
  if (!change.store_lost.empty()) note_store_lost(node, change.store_lost);
  if (context_.identity->adopting && context_.mirror.barrier().is_synced() && change.connected &&
      !context_.identity->adopt_nodes.contains(node) && !adopted_.contains(node) &&
      !is_retired(*context_.identity, context_.nodes, node)) {
    context_.identity.edit().adopt_nodes.insert(node);
  }
  if (change.facts || change.connected || change.disconnected) refresh(node);
  if (change.facts) {
    note_certificate(node);
    refresh_local_volumes(node);
    const std::string unserved = Nodes::why_not_served(device->facts.json());
    if (!unserved.empty()) log_refused(context_.log, "node " + node, unserved);
  }
  if (change.connected && context_.mirror.barrier().is_synced()) {
    ask_everything(node);
  }
  if (change.connected || change.disconnected) {
    context_.log.write(Level::info, change.disconnected ? "node offline" : "node online",
                       {{"node", node}, {"incarnation", device->incarnation}});
  }
}

void NodeRegistry::refresh(const std::string& node) {
  DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr) return;
  const std::shared_ptr<const Node> before = device->node;
  context_.publisher.mark(Kind::node, node);
  // A forgotten one that returns gets no pods before it has been cleared (P9).
  if (before == nullptr && is_retired(*context_.identity, context_.nodes, node)) return;
  const bool changed = context_.nodes.rebuild(node, context_.objects.overlay(node));
  news_.note(node, *device);
  if (changed) parts_.handlers.node_set(before, device->node);
  const bool has_room = changed && before != nullptr && before->volume_pools != device->node->volume_pools;
  if (has_room) parts_.changes.wake_capacity();
}

void NodeRegistry::tell(const std::string& node, const char* type, const char* reason, std::string message) {
  context_.events.record({Kind::node, node, type, reason, std::move(message), node});
}

void NodeRegistry::refresh_local_volumes(const std::string& node) {
  const std::vector<PersistentVolume> volumes = local_volumes(node, context_.nodes.find(node)->facts.json());
  std::set<std::string> offered;
  for (const PersistentVolume& volume : volumes) offered.insert(volume.metadata.name);
  // First, since another one may have its directory now.
  const std::string prefix = node + "-";
  for (const std::string& name : context_.objects.keys(Kind::persistent_volume)) {
    if (!name.starts_with(prefix) || offered.contains(name)) continue;
    auto volume = context_.objects.volume(name);
    if (!is_offered_by(*volume, node) || volume->phase != "Available" || parts_.volumes.is_reserved(name)) continue;
    parts_.changes.erase(Kind::persistent_volume, name);
  }
  for (const PersistentVolume& volume : volumes) {
    auto known = context_.objects.volume(volume.metadata.name);
    if (known != nullptr && known->local_path == volume.local_path && known->capacity == volume.capacity) continue;
    if (known != nullptr && !is_offered_by(*known, node)) {
      // Node "a" with volume "b-c" and node "a-b" with volume "c" make one name: the first keeps it.
      log_refused(context_.log, "volume " + volume.metadata.name,
                  "node " + node + " offers it, but it is not that node's");
      continue;
    }
    Result<Accepted> accepted = parts_.admission.accept(Kind::persistent_volume, volume.manifest, {});
    if (accepted) continue;
    log_refused(context_.log, "volume " + volume.metadata.name, accepted.error().message());
    if (accepted.error().code() == Code::unschedulable) volumes_refused_.insert(node);
  }
}

void NodeRegistry::compare_periodically() {
  if (!context_.mirror.barrier().is_synced()) return;
  for (const std::string& name : context_.nodes.find_due(context_.options.compare_ms)) {
    note_certificate(name);
    if (!parts_.listings.is_open(name)) parts_.listings.start(name, Floor::leave);
  }
}

void NodeRegistry::check_silence() {
  if (!context_.mirror.barrier().is_link_up()) {
    // Nothing can be heard: silence is ours, not theirs.
    for (const auto& [name, device] : context_.nodes.all())
      context_.nodes.find(name)->last_heard = context_.clock.now();
    return;
  }
  for (const std::string& node : context_.nodes.find_silent()) {
    context_.log.write(Level::warn, "node silent", {{"node", node}});
    refresh(node);
  }
}

void NodeRegistry::note_prebind(const Row& row, PreBindOutcome outcome) {
  const std::string node = row.node;
  const Millis now = context_.clock.now();
  const bool failed = outcome == PreBindOutcome::rejected || outcome == PreBindOutcome::unanswered;
  const DeviceNode* device = context_.nodes.find(node);
  // What an earlier incarnation was asked says nothing of this one.
  if (failed && (device == nullptr || device->incarnation != row.incarnation)) outcome = PreBindOutcome::ended;
  switch (outcome) {
    case PreBindOutcome::asked: backoff_.note_asked(node, row.uid, now); break;
    case PreBindOutcome::taken: backoff_.note_taken(node); break;
    case PreBindOutcome::rejected: backoff_.note_rejected(node, row.incarnation, row.uid, now); break;
    case PreBindOutcome::unanswered:
      backoff_.note_unanswered(node, row.incarnation,
                               "did not answer PreBind in " + std::to_string(row.promise_ms / 1000) + " s", now);
      break;
    case PreBindOutcome::refused:
    case PreBindOutcome::ended: backoff_.note_ended(node, row.uid); break;
  }
  if (hold_back(node) && failed) {
    context_.log.write(Level::warn, "node passed over", {{"node", node}, {"reason", backoff_.why(node)}});
  }
}

void NodeRegistry::end_backoffs() {
  for (const std::string& node : backoff_.failing()) hold_back(node);
  for (const std::string& node : context_.nodes.end_incarnation_holds()) note_quarantine(node);
}

bool NodeRegistry::admit_listing(const std::string& node, std::size_t listed, std::size_t unexplained) {
  const Quarantine::Listing listing{listed, unexplained, parts_.releases.count_of(node)};
  const std::string why = quarantine_.find_excess(node, listing, context_.clock.now());
  if (context_.nodes.set_hold(node, Hold::slots, why)) note_quarantine(node);
  return why.empty();
}

void NodeRegistry::hold_statuses(const std::string& node, const std::string& why) {
  if (context_.nodes.set_hold(node, Hold::statuses, why)) note_quarantine(node);
}

// It began, ended, or has another reason. A device may do that as often as it likes: of one, little is said.
void NodeRegistry::note_quarantine(const std::string& node) {
  refresh(node);
  const DeviceNode* device = context_.nodes.find(node);
  const std::string why = device == nullptr ? std::string() : quarantine_of(device->holds);
  if (why.empty() || !quarantine_.may_tell(node, context_.clock.now())) return;
  context_.log.write(Level::warn, "node quarantined", {{"node", node}, {"reason", why}});
  tell(node, "Warning", "NodeQuarantined", why);
}

void NodeRegistry::note_store_lost(const std::string& node, const std::string& why) {
  context_.log.write(Level::warn, "node lost its store", {{"node", node}, {"reason", why}});
  tell(node, "Warning", "NodeStoreLost",
       "the agent's store was lost (" + why + "); it stopped all pods and began as a new device");
}

// Its condition follows the time of day, and so has to be published when that has come.
void NodeRegistry::note_certificate(const std::string& node) {
  const DeviceNode& device = *context_.nodes.find(node);
  renewals_.note_end(node, certificate_end(device));
  const std::string why = certificates_.note(node, device, context_.clock.wall(), renewals_.problem(node, device));
  if (why.empty()) return;
  context_.publisher.mark(Kind::node, node);
  context_.log.write(Level::warn, "certificate of a node expires", {{"node", node}, {"reason", why}});
  tell(node, "Warning", "CertificateExpiring", why);
}

// The hold follows the back-off. True: it is held back now, and that or the reason is news.
bool NodeRegistry::hold_back(const std::string& node) {
  const bool held = backoff_.is_passed_over(node, context_.clock.now());
  if (!context_.nodes.set_hold(node, Hold::passed_over, held ? backoff_.why(node) : "")) return false;
  refresh(node);
  return held;
}

std::string NodeRegistry::passed_over(const std::string& node) const {
  const Millis now = context_.clock.now();
  return backoff_.is_passed_over(node, now) ? backoff_.why(node, now) : std::string();
}

// A message that carries the device's own incarnation in answer to what we asked: news that birth and state, lost on
// the way, did not bring.
void NodeRegistry::note_incarnation(const Answer& answer) {
  DeviceNode* device = context_.nodes.find(answer.node);
  if (device == nullptr || device->incarnation == answer.incarnation || answer.incarnation.empty()) return;
  const bool listed = parts_.listings.is_page_of_open(answer);
  const bool echoed = answer.type == AnswerType::hello && answer.to_incarnation == device->incarnation;
  if ((!listed && !echoed) || is_of_twin(answer.node, answer.incarnation)) return;
  apply_change(answer.node, context_.nodes.set_incarnation(answer.node, answer.incarnation));
}

void NodeRegistry::drop(const std::string& node) {
  parts_.listings.forget(node);
  adopted_.erase(node);
  backoff_.forget(node);
  parts_.refusals.forget(node);
  quarantine_.forget(node);
  certificates_.forget(node);
  renewals_.forget(node);
  const DeviceNode* device = context_.nodes.find(node);
  const std::shared_ptr<const Node> known = device == nullptr ? nullptr : device->node;
  context_.nodes.erase(node);
  news_.note_gone(node);
  context_.publisher.mark(Kind::node, node);
  if (known != nullptr) parts_.handlers.node_deleted(known);
}

void NodeRegistry::retry_refused_volumes() {
  constexpr int kNodesAtOnce = 64;
  std::set<std::string> nodes;
  for (int i = 0; i < kNodesAtOnce && !volumes_refused_.empty(); ++i) {
    nodes.insert(volumes_refused_.extract(volumes_refused_.begin()));
  }
  for (const std::string& node : nodes) {
    if (context_.nodes.find(node) != nullptr) refresh_local_volumes(node);
  }
}

void NodeRegistry::recover(const std::string& node) {
  news_.restore(node);
  refresh(node);
  // None was refused that it does not offer.
  if (context_.nodes.find(node)->facts.text().contains("\"volumes\":[{")) volumes_refused_.insert(node);
}

void NodeRegistry::compare(const std::string& node) {
  if (context_.mirror.barrier().is_synced()) parts_.listings.start(node);
}

void NodeRegistry::note_position(const Answer& answer) {
  const DeviceNode* device = context_.nodes.find(answer.node);
  if (device == nullptr || device->incarnation != answer.incarnation) return;
  if (parts_.listings.runs().note(answer.node, answer.incarnation, answer.at)) compare(answer.node);
}

void NodeRegistry::ask_everything(const std::string& node) {
  parts_.sender.names().forget(node);  // the agent may be a new one, which does not know the name
  parts_.listings.start(node);
  parts_.pods.resend(node);
  parts_.releases.resend(node);
}

}  // namespace berth
