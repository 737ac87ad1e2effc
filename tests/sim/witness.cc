#include "tests/sim/witness.h"

#include <algorithm>

#include "core/api/defaults.h"
#include "core/api/host_ports.h"
#include "core/bytes.h"
#include "core/check.h"
#include "core/objects/pod_record.h"

namespace berth::sim {

namespace {

// The demand of a slot, computed like the scheduler does.
Demand demand_of(const Slot& slot) {
  const Result<Json> json = Json::parse(slot.pod);
  const Result<Pod> pod = json ? decode_accepted_pod(*json) : Result<Pod>(json.error());
  return pod ? Demand{pod_requests(*pod), host_ports(*pod), slot.volumes} : Demand{{}, {}, slot.volumes};
}

std::string text_in(const Json* json, std::string_view key) {
  const Json* found = json == nullptr ? nullptr : json->find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::set<std::string> names_in(const Json& json, std::string_view key) {
  std::set<std::string> names;
  const Json* list = json.find(key);
  if (list == nullptr) return names;
  for (const Json& name : list->as_array()) names.insert(name.as_string());
  return names;
}

constexpr std::string_view kVolumePrefix = "persistentvolumes/", kClaimPrefix = "persistentvolumeclaims/";

}  // namespace

Contents only(const Contents& contents, Table table) {
  Contents some;
  for (auto record = contents.lower_bound({table, ""}); record != contents.end(); ++record) {
    if (record->first.first != table) break;
    some.insert(*record);
  }
  return some;
}

DeviceView& Witness::add_device(const std::string& name, Resources allocatable, const SimRuntime& runtime) {
  auto device = std::make_unique<DeviceView>();
  device->name = name;
  device->allocatable = std::move(allocatable);
  device->runtime = &runtime;
  devices_.push_back(std::move(device));
  return *devices_.back();
}

const DeviceView* Witness::device(const std::string& name) const {
  for (const auto& device : devices_) {
    if (device->name == name) return device.get();
  }
  return nullptr;
}

void Witness::set_hostile(const std::string& name) {
  for (const auto& device : devices_) device->hostile = device->hostile || device->name == name;
}

void Witness::check_everything() {
  scope_.everything = scope_.volumes = true;
  for (const auto& device : devices_) {
    scope_.slots.insert(device->name);
    scope_.rows.insert(device->name);
    for (const auto& [uid, slot] : device->durable.state.slots) scope_.uids.insert(uid);
    for (const Tag& tag : device->runtime->alive()) scope_.uids.insert(tag.uid);
  }
  for (const auto& [uid, row] : gateway_.rows) scope_.rows.insert(row.node), scope_.uids.insert(uid);
}

void Witness::check_turn() {
  for (auto& [key, wrong] : std::exchange(accepted_, {})) {
    if (!preempted_.contains(key)) news_.accepted_without_flash.push_back(std::move(wrong));
  }
}

namespace {

// Reads one record, except the incarnation.
void read_device_record(DeviceView& view, const Contents& contents, const std::pair<Table, std::string>& id) {
  NodeState& state = view.durable.state;
  const auto record = contents.find(id);
  if (record == contents.end()) {
    view.contents.erase(id);
    if (id.first == Table::slot) state.slots.erase(id.second), view.demands.erase(id.second);
    if (id.first == Table::high) state.high.erase(id.second);
    return;
  }
  view.contents.insert_or_assign(id, record->second);
  const Record now{id.first, id.second, record->second.value, record->second.phase};
  CHECK(decode_record(now, view.durable).is_success());
  if (id.first != Table::slot) return;
  const Slot& slot = state.slots.at(id.second);
  auto& known = view.demands[id.second];
  if (known.first != slot.epoch) known = {slot.epoch, demand_of(slot)};
}

}  // namespace

void Witness::read_device(const std::string& name, const Contents& contents, const RecordIds* touched) {
  const bool few = touched != nullptr && !touched->contains({Table::meta, std::string(kIncarnationKey)});
  for (auto& device : devices_) {
    if (device->name != name) continue;
    if (few) {
      for (const auto& id : *touched) {
        read_device_record(*device, contents, id);
        if (id.first != Table::slot) continue;
        scope_.slots.insert(name);
        scope_.uids.insert(id.second);
        const auto demand = device->demands.find(id.second);
        if (demand != device->demands.end() && !demand->second.second.volumes.empty()) scope_.volumes = true;
      }
      return;
    }
    if (device->contents == contents) return;
    device->contents = contents;
    scope_.everything = true;
    Result<AgentRecords> records = decode_records(to_records(contents));
    CHECK(records.has_value());
    device->durable = std::move(*records);
    const std::string& incarnation = device->durable.state.incarnation;
    if (device->older_copy && device->older_copy->incarnation != incarnation) device->older_copy.reset();
    auto& demands = device->demands;
    std::erase_if(demands, [&](const auto& known) { return !device->durable.state.slots.contains(known.first); });
    for (const auto& [uid, slot] : device->durable.state.slots) {
      auto& known = demands[uid];
      if (known.first != slot.epoch) known = {slot.epoch, demand_of(slot)};
    }
  }
}

void Witness::device_rolled_back(const std::string& name, const AgentRecords& copy, std::uint64_t next_position) {
  for (auto& view : devices_) {
    if (view->name != name) continue;
    view->older_copy = {copy.state.incarnation, {}};
    const auto heard = heard_of_.find(name);
    if (heard == heard_of_.end() || heard->second.first != copy.state.incarnation) continue;
    const bool is_later = copy.runs.origin_of(heard->second.second, next_position) == EpochOrigin::unknown;
    if (is_later) view->older_copy->knew = gateway_starts_;
  }
  std::erase_if(finals_, [&](const auto& known) { return known.first.first == name; });
}

bool Witness::device_told(const std::string& name, const Request& list, std::uint64_t next_position) {
  for (auto& view : devices_) {
    if (view->name != name || !view->older_copy || list.seen_incarnation != view->older_copy->incarnation) continue;
    const GatewayId& obeyed = view->durable.state.gateway;
    const bool is_obeyed = list.gateway_id.term > obeyed.term || list.gateway_id == obeyed;
    const bool is_told = view->durable.runs.origin_of(list.seen, next_position) == EpochOrigin::unknown;
    if (!is_obeyed || !is_told) continue;
    view->older_copy.reset();
    return true;
  }
  return false;
}

void Witness::end_rollbacks() {
  for (auto& view : devices_) {
    if (!view->older_copy || view->hostile) continue;
    if (view->older_copy->knew && view->older_copy->knew == gateway_starts_) {
      news_.untold.push_back("node " + view->name +
                             " runs on an older copy of its store, and the gateway did not tell it");
    }
    view->older_copy.reset();
  }
  check_everything();
}

// Decodes only what has changed.
void Witness::read_gateway(const Contents& contents, const RecordIds* touched) {
  std::vector<Row> changed;
  if (touched != nullptr) {
    for (const auto& id : *touched) read_gateway_record(contents, id, changed);
  } else {
    RecordIds all;
    for (const auto& [id, content] : gateway_.contents) all.insert(id);
    for (const auto& [id, content] : contents) all.insert(id);
    for (const auto& id : all) read_gateway_record(contents, id, changed);
  }
  // Several rows may begin in one commit.
  std::sort(changed.begin(), changed.end(), [](const Row& a, const Row& b) { return a.epoch < b.epoch; });
  for (const Row& row : changed) note_row(row);
}

void Witness::gateway_rolled_back(const Contents& copy) {
  read_gateway(copy);
  gateway_.copied_from = gateway_.id.store_id;
  gateway_.from_copy.clear();
  for (const auto& [uid, row] : gateway_.rows) gateway_.from_copy.insert(show(uid, row.epoch));
}

void Witness::read_gateway_record(const Contents& contents, const std::pair<Table, std::string>& id,
                                  std::vector<Row>& changed) {
  Contents& known = gateway_.contents;
  const auto now = contents.find(id);
  const auto old = known.find(id);
  if (now == contents.end()) {
    if (old == known.end()) return;
    gateway_record_gone(id);
    known.erase(id);
  } else if (old == known.end()) {
    gateway_record_changed(*known.emplace(*now).first, changed);
  } else if (old->second != now->second) {
    old->second = now->second;
    gateway_record_changed(*old, changed);
  }
}

void Witness::touch_row(const Row& row) {
  scope_.rows.insert(row.node);
  scope_.uids.insert(row.uid);
  scope_.pods.insert(row.pod);
}

void Witness::touch_release(const ReleaseEntry& entry) {
  scope_.rows.insert(entry.node);
  scope_.uids.insert(entry.uid);
}

void Witness::gateway_record_gone(const std::pair<Table, std::string>& id) {
  const auto& [table, key] = id;
  if (const auto row = gateway_.rows.find(key); table == Table::row && row != gateway_.rows.end()) {
    touch_row(row->second);
    if (gateway_.rows_with_volumes.erase(key) > 0) scope_.volumes = true;
    gateway_.rows.erase(row);
  }
  if (table == Table::release) {
    if (const auto release = gateway_.releases.find(key); release != gateway_.releases.end()) {
      touch_release(release->second);
      gateway_.releases.erase(release);
    }
  }
  if (table == Table::object && key.starts_with("pods/")) scope_.pods.insert(key.substr(5));
  if (table == Table::object && key.starts_with(kVolumePrefix))
    gateway_.volumes.erase(key.substr(kVolumePrefix.size()));
  if (table == Table::object && key.starts_with(kClaimPrefix)) gateway_.claims.erase(key.substr(kClaimPrefix.size()));
  if (table == Table::meta && key == "gateway") {
    scope_.everything = true;
    gateway_.has_store = false;
    gateway_.orphans.clear();
    gateway_.retired.clear();
  }
}

void Witness::gateway_record_changed(const Contents::value_type& record, std::vector<Row>& changed) {
  const auto& [table, key] = record.first;
  const Content& content = record.second;
  if (table == Table::row) {
    Result<Row> row = decode_row(content.value, content.phase);
    CHECK(row.has_value());
    changed.push_back(*row);
    if (const auto before = gateway_.rows.find(key); before != gateway_.rows.end()) {
      touch_row(before->second);
    }
    touch_row(*row);
    if (!row->volumes.empty()) gateway_.rows_with_volumes.insert(key), scope_.volumes = true;
    gateway_.rows.insert_or_assign(key, std::move(*row));
  } else if (table == Table::release) {
    Result<ReleaseEntry> entry = decode_release_entry(content.value);
    CHECK(entry.has_value());
    touch_release(*entry);
    gateway_.releases.insert_or_assign(key, std::move(*entry));
  } else if (table == Table::meta && key == "gateway") {
    const Result<Json> json = Json::parse(content.value);
    const Result<Epoch> term = parse_epoch(text_in(&*json, "term"));
    scope_.everything = true;
    gateway_.has_store = true;
    gateway_.id = {term->term, text_in(&*json, "storeId")};
    gateway_.adopting = json->find("adopt") != nullptr;
    check_authority();
    if (json->find("new") != nullptr) may_adopt_ = true;  // P15: the first word against that begins it
    gateway_.orphans = names_in(*json, "orphans");
    const std::set<std::string> retired = std::exchange(gateway_.retired, names_in(*json, "retired"));
    for (const std::string& name : gateway_.retired) {
      if (!retired.contains(name)) note_forgotten(name.substr(0, name.find('/')));
    }
  } else if (table == Table::object && key.starts_with("pods/")) {
    scope_.pods.insert(key.substr(5));
    const Result<PodRecord> pod = decode_pod_record(content.value);
    durable_uids_.insert(ByteReader(pod->uid).id());
    if (pod->successor.empty()) return;
    const Result<Json> manifest = Json::parse(pod->successor, {.bytes = 1u << 20, .depth = 80});
    durable_uids_.insert(text_in(manifest->find("metadata"), "uid"));
  } else if (table == Table::object && (key.starts_with(kVolumePrefix) || key.starts_with(kClaimPrefix))) {
    volume_record_changed(key, content.value);
  }
}

void Witness::volume_record_changed(const std::string& key, const std::string& manifest) {
  const Result<Json> json = Json::parse(manifest);
  const Json* spec = json->find("spec");
  const std::string phase = text_in(json->find("status"), "phase");
  scope_.volumes = true;
  if (key.starts_with(kClaimPrefix)) {
    gateway_.claims[key.substr(kClaimPrefix.size())] = {text_in(spec, "volumeName"), phase};
    return;
  }
  const Json* reference = spec == nullptr ? nullptr : spec->find("claimRef");
  const std::string name = text_in(reference, "name");
  gateway_.volumes[key.substr(kVolumePrefix.size())] = {
      name.empty() ? name : text_in(reference, "namespace") + "/" + name, phase};
}

void Witness::note_row(const Row& row) {
  if (row.phase == Phase::bound) ++binds_;
  if (row.phase >= Phase::bind) bind_durable_.insert({row.uid, row.epoch});
  if (!placements_.insert({row.uid, row.epoch, row.node}).second) return;
  if (row.phase != Phase::prebind) return;  // adopted; its epoch was recorded when an earlier store created it
  ++attempts_[row.uid];
  news_.begun.push_back(row);
  for (const auto& device : devices_) {
    // Terms are a node's own. What a liar has seen of them it does not say.
    if (device->name != row.node || device->hostile) continue;
    // The epochs of a forgotten node are unknown until it returns; then the term increases above them.
    if (gateway_.has_retired(device->name, device->durable.state.incarnation)) continue;
    Epoch& highest = news_.highest_seen_by_devices[device->name];
    for (const auto& [uid, high] : device->durable.state.high) highest = std::max(highest, high);
    for (const auto& [uid, slot] : device->durable.state.slots) highest = std::max(highest, slot.epoch);
    if (row.epoch <= highest) {
      news_.repeated_epochs.push_back("row " + show(row.uid, row.epoch) + " begins with an epoch not above " +
                                      to_text(highest) + ", which node " + device->name + " has seen");
    }
  }
  Epoch& last = last_begun_[{gateway_.id.store_id, std::string(row.node) + "/" + std::string(row.incarnation)}];
  const DeviceView* view = device(row.node);
  if (row.epoch <= last && (view == nullptr || !view->hostile)) {
    news_.repeated_epochs.push_back("row " + show(row.uid, row.epoch) + " begins after epoch " + to_text(last));
  }
  last = std::max(last, row.epoch);
  note_epoch(gateway_.id, row.epoch, row.uid, row.node);
}

// All placements ever made there, and what it holds although no store knows it any more.
void Witness::note_forgotten(const std::string& node) {
  passed_over_.erase(node);
  heard_of_.erase(node);
  for (auto& view : devices_) {
    if (view->name == node && view->older_copy) view->older_copy->knew.reset();
  }
  for (const auto& placement : placements_) {
    if (std::get<2>(placement) == node) forgotten_.insert(placement);
  }
  const DeviceView* view = device(node);
  if (view == nullptr) return;
  for (const auto& [uid, slot] : view->durable.state.slots) forgotten_.insert({uid, slot.epoch, node});
  for (const Tag& tag : view->runtime->alive()) forgotten_.insert({tag.uid, tag.epoch, node});
}

void Witness::note_epoch(const GatewayId& id, const Epoch& epoch, const std::string& uid, const std::string& node) {
  const auto [known, fresh] = owner_of_.emplace(std::pair(id.store_id, epoch), std::pair(uid, node));
  if (fresh || known->second == std::pair(uid, node)) return;
  news_.conflicting_epochs.push_back("epoch " + to_text(epoch) + " belongs to pod " + known->second.first +
                                     " on node " + known->second.second + " and of pod " + uid + " on node " + node);
}

bool Witness::is_fresh(RequestType type, const PlacementId& named, Millis now) const {
  constexpr Millis kFreshMs = 8'000;
  const auto found = asked_.find({type, named});
  return found == asked_.end() || now - found->second < kFreshMs;
}

void Witness::note_passed_over(const std::string& node, Millis now) {
  const auto known = gateway_.alive->nodes().all().find(node);
  if (known == gateway_.alive->nodes().all().end() || device(node)->hostile) return;
  PassedOver& passed_over = passed_over_[node] = {now, known->second.incarnation, {}};
  for (const auto& [uid, binding] : gateway_.alive->bindings()) {
    if (binding.row.node == node) passed_over.last = std::max(passed_over.last, binding.row.epoch);
  }
}

// D2: a node that has just failed gets no new row before its time is over, unless it is another incarnation.
void Witness::check_passed_over(const std::string& node, const Request& request, Millis now) {
  constexpr Millis kLeastMs = 700;  // the simulated gateway's 1000, on a clock that runs fast
  const auto found = passed_over_.find(node);
  if (found == passed_over_.end() || gateway_.alive == nullptr) return;
  const PassedOver& passed_over = found->second;
  if (request.epoch <= passed_over.last || now - passed_over.since >= kLeastMs) return;
  if (request.incarnation != passed_over.incarnation) return;
  news_.asked_too_soon.push_back("node " + node + " is asked to take " + show(request.uid, request.epoch) + " " +
                                 std::to_string(now - passed_over.since) + " ms after it was passed over");
}

void Witness::set_gateway(const Gateway* gateway) {
  gateway_.alive = gateway;
  heard_of_.clear();
  passed_over_.clear();
  if (gateway == nullptr) return;
  ++gateway_starts_;
  explained_term_ = gateway->identity().id.term;
  may_adopt_ = gateway->identity().adopting;
  for (const auto& [name, device] : gateway->nodes().all()) {  // P11 raises those of an older copy
    if (!device.term.is_zero()) said_[name] = std::max(said_[name], device.term.term - 1);
  }
}

void Witness::note_incarnation(const std::string& node, std::string_view incarnation) {
  const auto found = passed_over_.find(node);
  if (found != passed_over_.end() && found->second.incarnation != incarnation) passed_over_.erase(found);
}

// S13: what a node says concerns it alone, unless it returns what a gateway of this machine gave it.
void Witness::note_superseded(const Answer& answer) {
  said_[answer.node] = std::max(said_[answer.node], answer.gateway_id.term);
  const auto given = proofs_given_.find({answer.node, answer.proof});
  if (given == proofs_given_.end() || given->second.store_id != answer.gateway_id.store_id) return;
  explained_term_ = std::max(explained_term_, given->second.term + 1);
  may_adopt_ = true;
}

void Witness::check_authority() {
  if (gateway_.alive == nullptr) return;
  if (gateway_.id.term > explained_term_) {
    news_.unproven.push_back("the gateway's term has risen to " + std::to_string(gateway_.id.term) + ", above " +
                             std::to_string(explained_term_) + ", without a proof");
  }
  if (gateway_.adopting && !may_adopt_) news_.unproven.emplace_back("adopt mode has begun without a proof");
  may_adopt_ = gateway_.adopting;
}

void Witness::gateway_sent(const std::string& node, const Request& request, Millis now) {
  if (!request.proof.empty() && gateway_.alive != nullptr) {
    proofs_given_[{node, request.proof}] = gateway_.alive->identity().id;
  }
  const auto said = said_.find(node);
  if (request.gateway_id.term > std::max(explained_term_, said == said_.end() ? 0 : said->second + 1)) {
    news_.unproven.push_back("node " + node + " is sent term " + std::to_string(request.gateway_id.term) +
                             ", which it has not named");
  }
  if (request.type == RequestType::list || request.type == RequestType::heartbeat) return;
  ++requests_sent_;
  const PlacementId named{request.uid, request.epoch};
  const bool is_first = asked_.try_emplace({request.type, named}, now).second;
  if (is_first && request.type == RequestType::pre_bind) check_passed_over(node, request, now);
  if (!is_fresh(request.type, named, now)) ++late_resends_;
  if (request.type == RequestType::pre_bind) note_epoch(request.gateway_id, request.epoch, request.uid, node);
  if (request.type == RequestType::bind) {
    news_.binds_sent.push_back({{request.uid, request.epoch}, node, request.incarnation});
  }
}

void Witness::gateway_answered_client(const std::string& payload) {
  const Result<Json> json = Json::parse(payload);
  if (!json || json->find("ok") == nullptr || *json->find("ok") != Json(true)) return;
  const std::string uid = text_in(&*json, "uid");
  if (uid.empty() || text_in(&*json, "kind") != "Pod" || durable_uids_.contains(uid)) return;
  // If it was also replaced or deleted in this turn, flash contains only the last change.
  const std::string key = text_in(&*json, "key");
  if (messages_in_turn_[key] > 1) return;
  accepted_.emplace_back(key,
                         "pod " + uid + " was answered \"" + text_in(&*json, "result") + "\" but was never on flash");
}

void Witness::device_turned(const std::string& name, Millis now, int boots) {
  constexpr Millis kPromiseMs = 5000;  // as set by the gateway
  constexpr Millis kSlackMs = 1000;    // until the turn that ends the promise is over
  for (auto& view : devices_) {
    if (view->name != name || view->hostile) continue;
    const auto& slots = view->durable.state.slots;
    const auto is_promise = [&](const std::string& uid) {
      const auto slot = slots.find(uid);
      return slot != slots.end() &&
             (slot->second.state == SlotState::preparing || slot->second.state == SlotState::prepared);
    };
    std::erase_if(view->promises, [&](const auto& known) { return !is_promise(known.first); });
    for (const auto& [uid, slot] : slots) {
      if (!is_promise(uid)) continue;
      auto& known = view->promises[uid];
      if (known.epoch != slot.epoch) known = {slot.epoch, now, boots};
      if (known.boots == boots && now - known.since <= kPromiseMs + kSlackMs) continue;
      news_.overdue_promises.push_back("node " + name + " still holds " + show(uid, slot.epoch) + " (" +
                                       std::string(to_string(slot.state)) +
                                       ") after its promise expired or after a reboot");
    }
  }
}

void Witness::check_holdings(const std::string& name) {
  const DeviceView& view = *device(name);
  const auto& slots = view.durable.state.slots;
  view.runtime->for_each([&](const Tag& tag, bool alive) {
    const auto slot = slots.find(tag.uid);
    const bool named = slot != slots.end() && slot->second.epoch == tag.epoch;
    if (named && (!alive || (slot->second.is_charged() && slot->second.state >= SlotState::running))) return;
    news_.held_without_slot.push_back("node " + name + " holds resources of " + show(tag.uid, tag.epoch) +
                                      (alive ? ", running" : "") + ", its slot is " +
                                      (named ? std::string(to_string(slot->second.state)) : "gone"));
  });
}

Answer Witness::with_uid(Answer answer) const {
  if (!answer.uid.empty()) return answer;
  const auto owner = owner_of_.find({answer.gateway_id.store_id, answer.epoch});
  if (owner != owner_of_.end()) {
    answer.uid = owner->second.first;
    return answer;
  }
  for (const auto& [uid, row] : gateway_.rows) {  // begun under the store id that the copy had
    if (row.epoch == answer.epoch && gateway_.from_copy.contains(show(uid, row.epoch))) answer.uid = uid;
  }
  return answer;
}

void Witness::device_sent(const Answer& answer) {
  if (at_device_ && answer.uid == at_device_->request.uid && answer.epoch == at_device_->request.epoch) {
    const bool equivalent = answer.type != AnswerType::pre_bound && answer.type != AnswerType::bound;
    if (equivalent) ++at_device_->answers;
  }
  const bool final =
      answer.type == AnswerType::released || answer.type == AnswerType::rejected || answer.type == AnswerType::stale;
  if (!final) return;
  finals_[{answer.node, answer.uid}].push_back({answer.type, answer.epoch, answer.incarnation});
  scope_.uids.insert(answer.uid);
}

bool Witness::is_final(const std::string& node, const PlacementId& named, const std::string& incarnation) const {
  const auto found = finals_.find({node, named.first});
  if (found == finals_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Final& known) {
    return known.epoch == named.second && (incarnation.empty() || known.incarnation == incarnation);
  });
}

void Witness::gateway_received(const Answer& answer) {
  if (!answer.at.is_zero()) heard_of_[answer.node] = {answer.incarnation, answer.at};
  if (answer.type == AnswerType::superseded) note_superseded(answer);
  if (answer.type != AnswerType::pre_bound) return;
  prebound_received_.insert({answer.uid, answer.epoch});
  passed_over_.erase(answer.node);
}

void Witness::before_gateway_message(const std::string& sender, const std::optional<Answer>& answer,
                                     const std::string& status_uid) {
  AtGateway at{sender, answer, status_uid, {}, {}, {}, {}, false};
  if (answer) {
    const auto row = gateway_.rows.find(answer->uid);
    const bool of_row = row != gateway_.rows.end() && row->second.epoch == answer->epoch;
    const bool of_entry = gateway_.releases.contains(answer->node + "/" + answer->uid + "/" + to_text(answer->epoch));
    at.is_stale = !of_row && !of_entry && answer->type != AnswerType::slots && answer->type != AnswerType::superseded;
  }
  if (at.is_stale) {
    at.rows = only(gateway_.contents, Table::row);
    at.releases = only(gateway_.contents, Table::release);
  }
  // The row and the object of the pod that the message is about.
  const std::string& uid = answer ? answer->uid : status_uid;
  if (const auto row = gateway_.rows.find(uid); !uid.empty() && row != gateway_.rows.end()) {
    at.row_by_uid.insert(*row);
    for (const auto& id : {std::pair(Table::row, uid), std::pair(Table::object, "pods/" + row->second.pod)}) {
      if (const auto found = gateway_.contents.find(id); found != gateway_.contents.end()) at.of_pod.insert(*found);
    }
  }
  at_gateway_ = std::move(at);
}

void Witness::after_gateway_message() {
  if (!at_gateway_) return;
  const AtGateway at = std::move(*std::exchange(at_gateway_, std::nullopt));
  const auto kept = [&](const auto& id, const Content& content) {
    const auto now = gateway_.contents.find(id);
    return now != gateway_.contents.end() && now->second == content;
  };
  for (const Contents* table : {&at.rows, &at.releases}) {
    for (const auto& [id, content] : *table) {
      if (!at.is_stale || kept(id, content)) continue;
      // The turn that handles it also schedules, and may preempt a pod.
      if (id.first == Table::row && preempted_.contains(decode_row(content.value, content.phase)->pod)) continue;
      news_.stale_changes.push_back("the stale " + std::string(to_string(at.answer->type)) + " for " +
                                    show(at.answer->uid, at.answer->epoch) + " from node " + at.sender +
                                    " changed the gateway's record " + id.second);
    }
  }
  const std::string uid = at.answer ? at.answer->uid : at.status_uid;
  // In adopt mode a pod is where the highest running epoch was listed (P8).
  if (gateway_.adopting) return;
  const auto row = at.row_by_uid.find(uid);
  if (uid.empty() || row == at.row_by_uid.end() || row->second.node == at.sender) return;
  const bool same = std::all_of(at.of_pod.begin(), at.of_pod.end(),
                                [&](const auto& record) { return kept(record.first, record.second); });
  if (same || preempted_.contains(row->second.pod)) return;
  news_.foreign_changes.push_back("a message from node " + at.sender + " changed pod " + uid +
                                  ", whose row names node " + row->second.node);
}

namespace {
Contents slots_and_highs(const DeviceView& view) {
  Contents both = only(view.contents, Table::slot);
  both.merge(only(view.contents, Table::high));
  return both;
}
}  // namespace

void Witness::before_device_message(const std::string& node, const Request& request, bool ready) {
  const DeviceView& view = *device(node);
  const NodeState& state = view.durable.state;
  AtDevice at{request, false, false, 0, {}};
  if (request.type != RequestType::list && request.type != RequestType::heartbeat) {
    const bool other = request.incarnation != state.incarnation;
    const bool overruled = !state.gateway.store_id.empty() && request.gateway_id != state.gateway &&
                           request.gateway_id.term <= state.gateway.term;
    const auto slot = state.slots.find(request.uid);
    const bool to_stop =
        request.type == RequestType::release && slot != state.slots.end() && slot->second.epoch <= request.epoch;
    at.is_stale = other || overruled ||
                  (is_final(node, {request.uid, request.epoch}, state.incarnation) && !to_stop &&
                   request.gateway_id == state.gateway && request.floor <= state.floor);
    at.must_answer = at.is_stale && ready;
  }
  if (at.is_stale) at.before = slots_and_highs(view);
  at_device_ = std::move(at);
}

void Witness::after_device_message(const std::string& node) {
  if (!at_device_) return;
  const AtDevice at = std::move(*std::exchange(at_device_, std::nullopt));
  if (!at.is_stale) return;
  const std::string what =
      "the stale " + std::string(to_string(at.request.type)) + " for " + show(at.request.uid, at.request.epoch);
  if (slots_and_highs(*device(node)) != at.before)
    news_.stale_changes.push_back(what + " changed the store of node " + node);
  if (at.must_answer && at.answers == 0) {
    news_.stale_changes.push_back(what + " was not answered again by node " + node);
  }
}

}  // namespace berth::sim
