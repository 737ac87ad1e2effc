// What the flash of the gateway holds, and what it says that it holds.
#include "tests/sim/witness.h"

#include <algorithm>
#include <utility>

#include "core/bytes.h"
#include "core/check.h"
#include "core/objects/pod_record.h"

namespace berth::sim {

namespace {

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

// Decodes only what has changed.
void Witness::read_gateway(const Contents& contents, const RecordIds* touched) {
  std::vector<Row> changed;
  const bool was_adopting = gateway_.adopting;
  if (touched != nullptr) {
    for (const auto& id : *touched) read_gateway_record(contents, id, changed);
  } else {
    RecordIds all;
    for (const auto& [id, content] : gateway_.contents) all.insert(id);
    for (const auto& [id, content] : contents) all.insert(id);
    for (const auto& id : all) read_gateway_record(contents, id, changed);
    new_entries_.clear();  // it is another store
  }
  check_adopted(was_adopting);
  for (const std::string& key : std::exchange(new_entries_, {})) check_found(key);
  names_freed_.clear();
  returned_.clear();
  // Several rows may begin in one commit.
  std::sort(changed.begin(), changed.end(), [](const Row& a, const Row& b) { return a.epoch < b.epoch; });
  for (const Row& row : changed) note_row(row);
}

void Witness::gateway_rolled_back(const Contents& copy) {
  read_gateway(copy);
  forget_twins();
  gateway_.copied_from = gateway_.id.store_id;
  gateway_.from_copy.clear();
  for (const auto& [uid, row] : gateway_.rows) gateway_.from_copy.insert(show(uid, row.epoch));
}

void Witness::gateway_put_back(const Contents& copy) {
  gateway_rolled_back(copy);
  gateway_.copied_from.clear();
  gateway_.is_blind = true;
  // Below epochs of the lost time that no node has seen the next ones may be. S2 sees what is given twice.
  std::erase_if(last_begun_, [&](const auto& begun) { return begun.first.first == gateway_.id.store_id; });
  unhear_nodes();
}

void Witness::handed_over(const Contents& store, bool is_copy) {
  read_gateway(store);
  forget_twins();
  gateway_.is_behind = true;
  gateway_.is_copy = is_copy;
  unhear_nodes();
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
    gone_.push_back({row->second.node, row->second.incarnation, {key, row->second.epoch}});
    if (gateway_.rows_with_volumes.erase(key) > 0) scope_.volumes = true;
    gateway_.rows.erase(row);
    names_.row_gone(key);
  }
  if (table == Table::release) {
    if (const auto release = gateway_.releases.find(key); release != gateway_.releases.end()) {
      const ReleaseEntry& entry = release->second;
      touch_release(entry);
      gone_.push_back({entry.node, entry.incarnation, {entry.uid, entry.epoch}});
      gateway_.releases.erase(release);
      names_.entry_gone(key);
    }
  }
  if (table == Table::object && key.starts_with("pods/")) {
    scope_.pods.insert(key.substr(5));
    names_freed_.insert(key.substr(5));
  }
  if (table == Table::object && key.starts_with(kVolumePrefix))
    gateway_.volumes.erase(key.substr(kVolumePrefix.size()));
  if (table == Table::object && key.starts_with(kClaimPrefix)) gateway_.claims.erase(key.substr(kClaimPrefix.size()));
  if (table == Table::meta && key == "gateway") {
    scope_.everything = true;
    gateway_.has_store = gateway_.is_new = gateway_.has_begun_new = false;
    gateway_.orphans.clear();
    gateway_.kept.clear();
    gateway_.retired.clear();
    forget_twins();
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
      const Row& old = before->second;
      if (old.epoch != row->epoch) gone_.push_back({old.node, old.incarnation, {key, old.epoch}});
    }
    touch_row(*row);
    names_.row_changed(*row);
    if (!row->volumes.empty()) gateway_.rows_with_volumes.insert(key), scope_.volumes = true;
    gateway_.rows.insert_or_assign(key, std::move(*row));
  } else if (table == Table::release) {
    Result<ReleaseEntry> entry = decode_release_entry(content.value);
    CHECK(entry.has_value());
    touch_release(*entry);
    names_.entry_changed(key, *entry);
    if (!gateway_.releases.contains(key)) new_entries_.insert(key);
    gateway_.releases.insert_or_assign(key, std::move(*entry));
  } else if (table == Table::meta && key == "gateway") {
    const Result<Json> json = Json::parse(content.value);
    const Result<Epoch> term = parse_epoch(text_in(&*json, "term"));
    scope_.everything = true;
    gateway_.has_store = true;
    gateway_.id = {term->term, text_in(&*json, "storeId")};
    gateway_.adopting = json->find("adopt") != nullptr;
    if (gateway_.adopting) gateway_.is_blind = false;
    // One of the same machine whose store was lost, or is an older copy, asks every node without following (P13).
    if (gateway_.adopting && gateway_.is_copy) gateway_.is_behind = false;
    if (json->find("followed") != nullptr && std::exchange(follows_, false)) {
      gateway_.is_behind = false;
      explained_term_ = gateway_.id.term;
      may_adopt_ = true;
      if (gateway_.alive != nullptr) note_own_terms(*gateway_.alive);
      for (const auto& [uid, row] : gateway_.rows) gateway_.from_copy.insert(show(uid, row.epoch));
    }
    check_authority();
    gateway_.is_new = json->find("new") != nullptr;
    gateway_.has_begun_new = gateway_.is_new || (gateway_.has_begun_new && !gateway_.adopting);
    if (std::exchange(must_adopt_, false) && (!gateway_.adopting || gateway_.is_new)) {
      news_.two_of_a_name.emplace_back("the store was lost, and the next one counts as new, or waits for nobody");
    }
    if (gateway_.is_new) may_adopt_ = true;  // P15: the first word against that begins it
    gateway_.orphans = names_in(*json, "orphans");
    gateway_.kept = names_in(*json, "kept");
    note_kept();
    note_late(names_in(*json, "late"));
    gateway_.twins = names_in(*json, "twins");
    const std::set<std::string> retired = std::exchange(gateway_.retired, names_in(*json, "retired"));
    for (const std::string& name : gateway_.retired) {
      if (!retired.contains(name)) note_forgotten(name.substr(0, name.find('/')));
    }
    for (const std::string& name : retired) {
      if (!gateway_.retired.contains(name)) returned_.insert(name.substr(0, name.find('/')));
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

// The row of one that had finished is gone in the turn that makes it.
void Witness::note_kept() {
  for (const std::string& orphan : gateway_.kept) {
    const std::size_t uid = orphan.find('/') + 1;
    found_.insert(orphan.substr(uid, orphan.find('/', uid) - uid));
  }
}

void Witness::note_late(const std::set<std::string>& nodes) {
  for (const std::string& node : nodes) {
    if (!names_.is_late(node)) note_not_awaited(node);
  }
  names_.set_late(nodes);
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
  if (const std::string other = names_.find_second_row(row); !other.empty()) {
    news_.two_of_a_name.push_back("pods " + std::string(row.uid) + " and " + other + " both have a row of the name " +
                                  std::string(row.pod));
  }
  if (row.phase >= Phase::bind) bind_durable_.insert({row.uid, row.epoch});
  // If it was adopted, a pod of its name that was applied in this turn has become an update of it (P14).
  if (row.phase != Phase::prebind) note_message_about_pod(row.pod);
  if (!placements_.insert({row.uid, row.epoch, row.node}).second) return;
  if (row.phase != Phase::prebind) {  // adopted; its epoch was recorded when an earlier store created it
    found_.insert(std::string(row.uid));
    return;
  }
  // What the lost time placed of it may run elsewhere.
  if (gateway_.is_blind) not_awaited_.insert({row.uid, row.epoch, row.node});
  if (gateway_.is_behind) {
    news_.unproven.push_back("row " + show(row.uid, row.epoch) +
                             " begins although another gateway has served since, and nobody was asked");
  }
  check_name_is_free(row);
  ++attempts_[row.uid];
  news_.begun.push_back(row);
  for (const auto& device : devices_) {
    // Terms are a node's own. What a liar has seen of them it does not say.
    if (device->node != row.node || device->hostile) continue;
    // Of two devices of a name the row is for one: a new store may not have heard of the other, and its epochs.
    if (is_shared(device->node) && device->durable.state.incarnation != row.incarnation) continue;
    // The epochs of a forgotten node are unknown until it returns; then the term increases above them.
    if (gateway_.has_retired(device->node, device->durable.state.incarnation)) continue;
    if (names_.is_unheard(device->node)) continue;  // likewise
    // With an older copy of its store it may have seen epochs of a lost store again, and answers Superseded or Stale.
    if (device->older_copy) continue;
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

void Witness::note_forgotten(const std::string& node) {
  passed_over_.erase(node);
  heard_of_.erase(node);
  for (auto& view : devices_) {
    if (view->name == node && view->older_copy) view->older_copy->knew.reset();
  }
  add_placements_of(node, forgotten_);
}

// What the gateway knows of, it places nowhere else.
void Witness::note_not_awaited(const std::string& node) {
  Placements placements;
  add_placements_of(node, placements);
  std::erase_if(placements, [&](const auto& placement) {
    const auto& [uid, epoch, device] = placement;
    const auto row = gateway_.rows.find(uid);
    const bool has_row = row != gateway_.rows.end() && row->second.node == node && row->second.epoch == epoch;
    return has_row || gateway_.releases.contains(node + "/" + uid + "/" + to_text(epoch));
  });
  not_awaited_.merge(placements);
}

// All placements ever made there, and what it holds although no store knows it any more.
void Witness::add_placements_of(const std::string& node, Placements& placements) {
  for (const auto& view : devices_) {
    if (view->node != node) continue;
    for (const auto& [uid, epoch, on] : placements_) {
      if (on == node) placements.insert({uid, epoch, view->name});
    }
    for (const auto& [uid, slot] : view->durable.state.slots) placements.insert({uid, slot.epoch, view->name});
    for (const Tag& tag : view->runtime->alive()) placements.insert({tag.uid, tag.epoch, view->name});
  }
}

void Witness::note_epoch(const GatewayId& id, const Epoch& epoch, const std::string& uid, const std::string& node) {
  const auto [known, fresh] = owner_of_.emplace(std::pair(id.store_id, epoch), std::pair(uid, node));
  if (fresh || known->second == std::pair(uid, node)) return;
  news_.conflicting_epochs.push_back("epoch " + to_text(epoch) + " belongs to pod " + known->second.first +
                                     " on node " + known->second.second + " and of pod " + uid + " on node " + node);
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

}  // namespace berth::sim
