// Deleted volumes and claims that wait for their users, and what becomes of a volume afterwards.
#include "core/gateway/gateway.h"
#include "core/objects/object_events.h"

namespace berth {

void Gateway::begin_delete(Kind kind, const std::string& key) {
  terminating_.insert({kind, key});
  save_terminating();
  delete_unused_volumes();
  if (!terminating_.contains({kind, key})) return;
  // In use: until it goes no other pod may take it up.
  EventObjects objects;
  note_old(objects, objects_, kind, key);
  objects_.mark_deleting(kind, key);
  note_new(objects, objects_, kind, key);
  wake(*event_of(kind, kUpdate), objects);
}

// A deleted claim goes when no pod uses it; a deleted volume when no claim is bound to it.
void Gateway::delete_unused_volumes() {
  bool changed = false;
  for (const auto& [kind, key] : std::set(terminating_)) {
    if (kind == Kind::persistent_volume_claim) {
      if (is_used(key) || !drop_awaited_volumes_of(key)) continue;
      if (auto claim = objects_.claim(key); claim != nullptr) release_volume(claim->volume_name, key);
    } else if (auto volume = objects_.volume(key);
               volume != nullptr && (volume->phase == "Bound" || is_reserved(key))) {
      continue;
    }
    terminating_.erase({kind, key});
    changed = true;
    if (!objects_.has(kind, key)) continue;
    const auto volume = kind == Kind::persistent_volume ? objects_.volume(key) : nullptr;
    erase_other(kind, key);
    if (volume != nullptr) offer_again(*volume);
  }
  if (changed) save_terminating();
}

// Deleting a volume that a device offers is the operator's word that it may be used anew: it comes back unclaimed.
void Gateway::offer_again(const PersistentVolume& deleted) {
  auto offered_by = deleted.metadata.annotations.find(std::string(kOfferedBy));
  if (offered_by == deleted.metadata.annotations.end() || nodes_.find(offered_by->second) == nullptr) return;
  refresh_local_volumes(offered_by->second);
}

// The claim is gone: its volume keeps the data and waits for the operator (reclaim policy Retain).
void Gateway::release_volume(const std::string& name, const std::string& claim_key) {
  auto volume = objects_.volume(name);
  if (volume == nullptr || volume->claim_ref != claim_key) return;
  EventObjects objects;
  objects.old_volume = volume;
  PersistentVolume released = *volume;
  released.phase = "Released";
  released.manifest.set("status", Json(Json::Object{{"phase", "Released"}}));
  objects_.put(std::move(released));
  publisher_.mirror(Kind::persistent_volume, name);
  publisher_.mark(Kind::persistent_volume, name);
  note_new(objects, objects_, Kind::persistent_volume, name);
  wake(*event_of(Kind::persistent_volume, kUpdate), objects);
}

void Gateway::save_terminating() {
  Json list = Json::array();
  for (const auto& [kind, key] : terminating_) list.push_back(std::string(describe(kind).plural) + "/" + key);
  store_.put(Table::meta, "doomed", list.dump());
}

Status Gateway::load_terminating(const RecordView& record) {
  Result<Json> list = Json::parse(record.value, {.bytes = record.value.size(), .depth = 8});
  if (!list || !list->is_array()) return Status::error("stored meta \"doomed\": a list is wanted");
  for (const Json& entry : list->as_array()) {
    if (!entry.is_string()) continue;
    const std::string& text = entry.as_string();
    const std::size_t slash = text.find('/');
    const KindName* kind = find_kind(text.substr(0, slash));
    if (kind != nullptr && slash != std::string::npos) terminating_.insert({kind->kind, text.substr(slash + 1)});
  }
  return Status::ok();
}

}  // namespace berth
