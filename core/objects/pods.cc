#include "core/objects/pods.h"

#include "core/api/defaults.h"
#include "core/api/packed.h"
#include "core/bytes.h"
#include "core/check.h"
#include "core/json/json.h"
#include "core/objects/accepting.h"
#include "core/objects/pod_record.h"

namespace berth {

namespace {

std::string pod_record_key(const std::string& key) { return "pods/" + key; }

// Whether that is its metadata.key(), which would have to be made first.
bool has_key(const Pod& pod, std::string_view key) {
  const std::string_view space = pod.metadata.namespace_, name = pod.metadata.name;
  return !space.empty() && key.size() == space.size() + 1 + name.size() && key.starts_with(space) &&
         key[space.size()] == '/' && key.ends_with(name);
}

}  // namespace

const PodExtras& PodEntry::extras() const {
  static const PodExtras kNone;
  return extras_ == nullptr ? kNone : *extras_;
}

void PodEntry::edit_extras(const std::function<void(PodExtras&)>& change) {
  if (extras_ == nullptr) extras_ = std::make_unique<PodExtras>();
  change(*extras_);
  if (*extras_ == PodExtras()) extras_.reset();
}

void set_disruption(PodEntry& entry, const Text& why) {
  entry.edit_extras([&why](PodExtras& extras) { extras.disruption = why; });
}

Status Pods::load(std::string_view key, std::string_view value) {
  if (is_pod_record(value)) return load_packed(key, value);
  Result<Json> json = Json::parse(value, {.bytes = 1u << 20, .depth = 80});
  return json ? load_json(*json) : json.error();
}

Status Pods::load_json(const Json& stored) {
  const Json* manifest = stored.find("manifest");
  if (manifest == nullptr) return Status::error("no manifest");
  Result<Pod> pod = decode_accepted_pod(*manifest);
  if (!pod) return pod.error();
  const auto text_of = [&stored](std::string_view key) {
    const Json* text = stored.find(key);
    return text != nullptr && text->is_string() ? text->as_string() : std::string();
  };
  const Text disruption = text_of("disruption");
  pod->nominated_node_name = text_of("nominatedNode");
  pod->metadata.deleting = stored.find("deleting") != nullptr;
  pod->preempted = !disruption.empty();
  PodEntry& entry = put(make_counted<const Pod>(std::move(*pod)));
  if (const Json* arrived = stored.find("arrived"); arrived != nullptr && arrived->is_integer()) {
    entry.arrived = arrived->as_int();
  }
  set_disruption(entry, disruption);
  entry.deleting = stored.find("deleting") != nullptr;
  entry.finished = stored.find("finished") != nullptr;
  if (const Json* observed = stored.find("observed")) entry.observed = Report(*observed);
  if (const Json* successor = stored.find("successor")) set_successor(entry, *successor);
  return Status::ok();
}

Status Pods::load_packed(std::string_view key, std::string_view stored) {
  Result<PodRecord> record = decode_pod_record(stored);
  if (!record) return record.error();
  const auto pod = make_counted<Pod>();
  if (is_pod_packed_alike(record->packed)) {
    if (!unpack_pod(record->packed, *pod)) return Status::error("its packed form is damaged");
    if (record->uid.empty()) {
      pod->set_manifest(record->shape);
    } else {
      pod->shape = Text::common(record->shape);
    }
  } else {
    const Result<Json> json =
        Json::parse(manifest_text(*record, key.substr(key.rfind('/') + 1)), {.bytes = 1u << 20, .depth = 80});
    if (!json) return json.error();
    Result<Pod> decoded = decode_accepted_pod(*json);
    if (!decoded) return decoded.error();
    *pod = std::move(*decoded);
  }
  pod->nominated_node_name = record->nominated_node;
  pod->metadata.deleting = record->deleting;
  pod->preempted = !record->disruption.empty();
  pod->start_time.reset();  // the device reports it
  PodEntry& entry = has_key(*pod, key) ? put(key, pod) : put(pod);
  entry.arrived = record->arrived;
  entry.deleting = record->deleting;
  entry.finished = record->finished;
  // Few have these.
  if (!record->disruption.empty()) set_disruption(entry, record->disruption);
  if (!record->observed.empty()) entry.observed = Report(Manifest::of_text(record->observed).json());
  if (!record->successor.empty()) set_successor(entry, Manifest::of_text(record->successor));
  return Status::ok();
}

PodEntry* Pods::find(const std::string& key) {
  const KeyIndex::Index index = entries_.index_of(key);
  return index == KeyIndex::kNone ? nullptr : &entries_[index];
}

const PodEntry* Pods::find(const std::string& key) const {
  const KeyIndex::Index index = entries_.index_of(key);
  return index == KeyIndex::kNone ? nullptr : &entries_[index];
}

Text Pods::key_of(const Pod& pod) const {
  std::string key = pod.metadata.key();
  const PodEntry* entry = find(key);
  return entry == nullptr ? Text(key) : entry->key;
}

Pods::Entries::Index Pods::index_of_uid(std::string_view uid) const { return by_uid_.find(uid, has_uid(uid)); }

PodEntry* Pods::find_by_uid(std::string_view uid) {
  const KeyIndex::Index index = index_of_uid(uid);
  return index == KeyIndex::kNone ? nullptr : &entries_[index];
}

const PodEntry* Pods::find_by_uid(std::string_view uid) const {
  const KeyIndex::Index index = index_of_uid(uid);
  return index == KeyIndex::kNone ? nullptr : &entries_[index];
}

PodEntry& Pods::put(PodPtr pod) {
  const std::string key = pod->metadata.key();
  return put(key, std::move(pod));
}

PodEntry& Pods::put(std::string_view key, PodPtr pod) {
  const std::string_view uid = pod->uid();
  const auto [index, is_new] = entries_.find_or_add(key, [key] {
    PodEntry entry;
    entry.key = key;
    return entry;
  });
  PodEntry& entry = entries_[index];
  CHECK(is_new || entry.pod->uid() == uid);
  entry.pod = std::move(pod);
  // A uid under two names is the newer's.
  if (is_new) by_uid_.assign(uid, has_uid(uid), index);
  return entry;
}

void Pods::save(const std::string& key) {
  const PodEntry& entry = entries_.at(key);
  ByteWriter packed;
  pack_pod(packed, *entry.pod);
  PodRecord record;
  record.deleting = entry.deleting;
  record.finished = entry.finished;
  record.arrived = entry.arrived;
  ByteWriter uid;
  uid.id(entry.pod->uid());
  record.uid = uid.bytes();
  record.shape = entry.pod->shape;
  record.disruption = entry.extras().disruption;
  record.nominated_node = entry.pod->nominated_node_name;
  // While the pod runs, its observed status is repeated by the device; only a final one is kept.
  const std::string observed = entry.finished ? entry.observed.text() : std::string();
  record.observed = observed;
  record.successor = entry.extras().successor.text();
  record.packed = packed.bytes();
  store_.put(Table::object, pod_record_key(key), encode(record));
}

void Pods::set_successor(PodEntry& entry, Manifest successor) {
  entry.edit_extras([&successor](PodExtras& extras) { extras.successor = std::move(successor); });
  if (entry.extras().successor.is_null()) {
    names_awaited_.erase(entry.pod->metadata.key());
  } else {
    names_awaited_.insert_or_assign(entry.pod->metadata.key(), uid_of(entry.extras().successor.json()));
  }
}

void Pods::erase(const std::string& key) {
  const KeyIndex::Index index = entries_.index_of(key);
  CHECK(index != KeyIndex::kNone);
  // A uid under two names is the newer's: see put().
  by_uid_.erase(entries_[index].pod->uid(), [index](KeyIndex::Index other) { return other == index; });
  entries_.erase(index);
  names_awaited_.erase(key);
  store_.erase(Table::object, pod_record_key(key));
}

}  // namespace berth
