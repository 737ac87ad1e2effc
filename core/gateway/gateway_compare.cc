// List/Slots: what a device runs against what the rows say; and adopt mode after a lost store (rules.md P8).
#include <algorithm>
#include <utility>

#include "core/api/defaults.h"
#include "core/gateway/gateway.h"
#include "core/placement/pending_release.h"

namespace berth {

namespace {

// Some 25,000 slots of one node; pages are kept until the last has come, whoever sends them.
constexpr std::uint32_t kMaxPages = 64;
constexpr std::uint64_t kMaxTerm = std::uint64_t{1} << 62;  // no fault and no hostile device may use the terms up

std::string orphan_name(const std::string& node, const SlotReport& slot) {
  return node + "/" + slot.uid + "/" + to_text(slot.epoch);
}

Resources charge_of(const SlotReport& slot) {
  Result<Json> manifest = Json::parse(slot.pod);
  if (!manifest) return {};
  Result<Pod> pod = decode_accepted_pod(*manifest);
  return pod ? pod_requests(*pod) : Resources{};
}

bool is_alive(SlotState state) { return state == SlotState::running || state == SlotState::stopping; }

}  // namespace

void Gateway::list_node(const std::string& node) {
  if (!link_up_ || !options_.hold.empty()) return;
  OpenListing& listing = listings_[node];
  timers_.cancel(listing.resend);
  listing = OpenListing{};
  listing.id = ++last_list_;
  ask_page(node);
}

void Gateway::ask_page(const std::string& node) {
  OpenListing& listing = listings_.at(node);
  Request message(RequestType::list);
  while (listing.got.contains(message.page)) ++message.page;
  message.list_id = listing.id;
  message.report = message.page == 0 && wants_report(node);
  send_request(node, std::move(message));
  arm_resend(listing.resend, listing.resends, [this, node] {
    listings_.at(node).resend = 0;
    ask_page(node);
  });
}

// Facts or a final status that were lost on the way are asked for; a live broker brings them unasked.
bool Gateway::wants_report(const std::string& node) {
  const DeviceNode* device = nodes_.find(node);
  return device == nullptr || device->facts.is_null() || !device->facts_current || unreported_.contains(node);
}

void Gateway::on_slots(const Answer& answer) {
  auto found = listings_.find(answer.node);
  // Only a listing asked for now, under the present term, tells anything (P8).
  if (found == listings_.end() || found->second.id != answer.list_id || answer.gateway_id != identity_.id) return;
  OpenListing& listing = found->second;
  if (answer.pages == 0 || answer.pages > kMaxPages || answer.page >= answer.pages) {
    return refuse("slots of node " + answer.node,
                  "page " + std::to_string(answer.page) + " of " + std::to_string(answer.pages) + " cannot be");
  }
  if (answer.page == 0) listing.got.clear();  // the device lost its place and began anew
  listing.got[answer.page] = answer.slots;
  listing.resends = 0;
  if (listing.got.size() < answer.pages) return ask_page(answer.node);
  std::vector<SlotReport> slots;
  for (auto& [page, part] : listing.got) slots.insert(slots.end(), part.begin(), part.end());
  std::erase_if(slots, [&](const SlotReport& slot) { return listing.ended.contains(slot.epoch); });
  timers_.cancel(listing.resend);
  listings_.erase(found);
  if (compare(answer.node, slots, answer.incarnation)) return adopted(answer.node);
  OpenListing& again = listings_[answer.node];
  again.id = ++last_list_;
  arm_resend(again.resend, again.resends, [this, node = answer.node] {
    listings_.at(node).resend = 0;
    ask_page(node);
  });
}

bool Gateway::compare(const std::string& node, const std::vector<SlotReport>& slots, const std::string& incarnation) {
  std::set<std::string> listed, names;
  const bool retired = is_retired(node, incarnation);
  bool unreported = false;
  bool complete = true;
  for (const SlotReport& slot : slots) {
    if (slot.state == SlotState::none) continue;
    listed.insert(slot.uid);
    auto found = bindings_.find(slot.uid);
    if (found != bindings_.end() && found->second.row.node == node && found->second.row.epoch == slot.epoch) {
      // How it ended stands in its status, which was lost: the next listing asks for it.
      if (slot.state == SlotState::finished && found->second.row.phase == Phase::bound) unreported = true;
      continue;
    }
    const std::string name = orphan_name(node, slot);
    names.insert(name);
    const bool spoken_for = identity_.orphans.contains(name) && objects_.find_pod_by_uid(slot.uid) != nullptr;
    if (releases_.contains(name) && !spoken_for) continue;
    if (!retired && (identity_.adopting || spoken_for)) {
      complete = adopt_slot(node, slot, incarnation) && complete;
      // What the node said of the pod came before there was a row to believe it by.
      const auto adopted_row = bindings_.find(slot.uid);
      if (adopted_row != bindings_.end() && adopted_row->second.row.epoch == slot.epoch) unreported = true;
    } else {
      add_release({node, incarnation, slot.uid, slot.epoch, encode_charge(charge_of(slot))}, is_alive(slot.state));
    }
  }
  forget_orphans_not_in(node, names);
  if (retired) welcome_back(node, incarnation);
  std::vector<Binding*> missing;
  for (Binding* binding : rows_of(node)) {
    const Phase phase = binding->row.phase;
    if (listed.contains(binding->row.uid)) continue;
    if (phase == Phase::bind || phase == Phase::bound) missing.push_back(binding);
  }
  for (Binding* binding : missing) verify(*binding);  // resend, never conclude
  if (!unreported) {
    unreported_.erase(node);
  } else if (unreported_.insert(node).second) {
    list_node(node);
  }
  return complete;
}

// A slot that no row explains, found while the gateway learns anew what it once knew.
bool Gateway::adopt_slot(const std::string& node, const SlotReport& slot, const std::string& incarnation) {
  const bool unbound = slot.state == SlotState::preparing || slot.state == SlotState::prepared;
  const ReleaseEntry leftover{node,
                              incarnation,
                              slot.uid,
                              slot.epoch,
                              encode_charge(charge_of(slot)),
                              unbound ? std::vector<BoundVolume>() : slot.volumes};
  const std::string name = orphan_name(node, slot);
  const auto waiting = bindings_.find(slot.uid);
  if (!unbound && waiting != bindings_.end() && waiting->second.row.phase == Phase::none) {
    // A decision that waits, on Permit or for a busy node, is overtaken: the pod has its place.
    const std::string why = "the pod was found on node " + node;
    if (!scheduler_.waiting_pods().reject(slot.uid, "", why)) feed_permit(slot.uid, Status::error(why));
    deliver_permits();
  }
  PodEntry* entry = objects_.find_pod_by_uid(slot.uid);
  if (entry == nullptr) {
    // A workload without an object waits for the operator's word: it may be all that is left of his.
    if (identity_.deleted.contains(slot.uid)) {
      add_release(leftover, is_alive(slot.state));
    } else {
      keep_orphan(leftover, name);
    }
    return true;
  }
  const auto known = bindings_.find(slot.uid);
  // Two nodes with one pod: the highest running epoch keeps the row, the other goes to the release list.
  const bool other_wins = known != bindings_.end() && (known->second.row.epoch > slot.epoch || !is_alive(slot.state));
  // It has ended on another node, whose row is gone already.
  const bool has_ended = known == bindings_.end() && entry->finished && slot.state != SlotState::finished;
  if (other_wins || unbound || has_ended) {
    if (identity_.orphans.contains(name)) forget_orphan(name);
    add_release(leftover, is_alive(slot.state));
    return true;
  }
  Row row;
  row.uid = slot.uid;
  row.pod = entry->key;
  row.epoch = slot.epoch;
  row.node = Text::common(node);
  row.incarnation = Text::common(incarnation);
  row.promise_ms = options_.promise_ms;
  row.volumes = slot.volumes;
  const bool keeps_running = slot.state == SlotState::running && !entry->deleting;
  apply(row, keeps_running ? RowEvent::found_running : RowEvent::found_ending);
  if (Status begun = store_.begin(row.uid, encode(row), static_cast<int>(row.phase)); !begun.is_success()) {
    refuse("slot of pod " + row.pod, begun.message());
    return false;  // asked again
  }
  move_claims(row);
  if (known != bindings_.end()) drop_row(known->second);
  if (slot.state == SlotState::finished && !entry->deleting) {
    entry->finished = true;
    objects_.save_pod(row.pod);
  }
  if (identity_.orphans.contains(name)) forget_orphan(name);  // before the row holds the epoch in its place
  queue_.remove(slot.uid);
  publisher_.mark(Kind::pod, row.pod);
  resume_row(std::move(row));
  if (auto adopted_row = bindings_.find(slot.uid); adopted_row != bindings_.end()) verify(adopted_row->second);
  return true;
}

// A row whose place another node's slot disproves. Its record is that of the row to come already.
void Gateway::drop_row(Binding& binding) {
  const Row& row = binding.row;
  const Resources charge = binding.pod == nullptr ? Resources{} : pod_requests(*binding.pod);
  const bool may_run = row.phase != Phase::prebind;
  ReleaseEntry entry{row.node,  row.incarnation,       row.uid,
                     row.epoch, encode_charge(charge), may_run ? row.volumes : std::vector<BoundVolume>()};
  binding.cancel(timers_);
  const std::unique_ptr<BindingCycle>& cycle = binding.journey().cycle;
  if (cycle && cycle->reservation && cycle->reservation->is_armed()) {
    cycle->reservation.reset();
  } else {
    cache_.remove(row.uid);
  }
  drop_epoch(row.node, row.epoch, row.uid);
  if (is_in_flight(row)) leave_flight(row);
  awaited_volumes_.erase(row.uid);
  bindings_.erase(Text(row.uid));
  add_release(std::move(entry), may_run);
}

// Another gateway's store, or our own before it was lost, has spoken to this node: our term rises above it (P3, P8).
void Gateway::on_superseded(const Answer& answer) {
  if (answer.gateway_id.store_id == identity_.id.store_id || answer.gateway_id.term < identity_.id.term) return;
  if (answer.gateway_id.term >= kMaxTerm) return refuse("node " + answer.node, "its gateway term cannot be exceeded");
  log_.write(Level::warn, "superseded: the term rises",
             {{"node", answer.node}, {"term", std::to_string(answer.gateway_id.term + 1)}});
  identity_.id.term = answer.gateway_id.term + 1;
  std::set<std::string> nodes;
  for (const auto& [name, device] : nodes_.all()) {
    if (!is_retired(name)) nodes.insert(name);
  }
  enter_adopt(std::move(nodes));
}

void Gateway::enter_adopt(std::set<std::string> nodes) {
  identity_.adopt_nodes = std::move(nodes);
  const bool adopted_before = std::exchange(identity_.adopting, !identity_.adopt_nodes.empty());
  adopted_.clear();
  identity_changed_ = true;
  if (adopted_before && !identity_.adopting) end_adopt();
  for (const std::string& node : identity_.adopt_nodes) {
    list_node(node);
    resend_all(node);
  }
}

void Gateway::adopted(const std::string& node) {
  if (!identity_.adopting) return;
  adopted_.insert(node);
  identity_.adopt_nodes.erase(node);
  identity_changed_ = true;
  if (identity_.adopt_nodes.empty()) end_adopt();
}

// Pods are placed again, and deletes that waited for the nodes' word are carried out.
void Gateway::end_adopt() {
  identity_.adopting = false;
  identity_.deleted.clear();
  adopted_.clear();
  identity_changed_ = true;
  log_.write(Level::info, "every known node has answered; placing pods again", {});
  std::vector<std::string> waiting;
  for (const auto& [key, entry] : objects_.pods()) {
    if (entry.deleting && !bindings_.contains(entry.pod->uid())) waiting.push_back(key);
  }
  for (const std::string& key : waiting) finish_removal(key);
  join_waiting_halves();
}

// A message that carries the device's own incarnation in answer to what we asked: news that birth and state, lost on
// the way, did not bring.
void Gateway::note_incarnation(const Answer& answer) {
  DeviceNode* device = nodes_.find(answer.node);
  if (device == nullptr || device->incarnation == answer.incarnation || answer.incarnation.empty()) return;
  const bool listed = answer.type == AnswerType::slots && listings_.contains(answer.node) &&
                      listings_.at(answer.node).id == answer.list_id;
  const bool echoed = answer.type == AnswerType::hello && answer.to_incarnation == device->incarnation;
  if (!listed && !echoed) return;
  nodes_.set_incarnation(answer.node, answer.incarnation);
  apply_change(answer.node, {.facts = false, .connected = true, .disconnected = false});
}

}  // namespace berth
