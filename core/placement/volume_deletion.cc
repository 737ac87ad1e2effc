// Deleted volumes and claims that wait for their users, and what becomes of a volume afterwards.
#include "core/json/json.h"
#include "core/placement/volume_binder.h"

namespace berth {

void VolumeBinder::begin_delete(Kind kind, const std::string& key) {
  terminating_.insert({kind, key});
  save_pending();
  delete_unused();
  if (!terminating_.contains({kind, key})) return;
  // In use: until it is gone no other pod may start to use it.
  EventObjects objects;
  note_old(objects, context_.objects, kind, key);
  context_.objects.mark_deleting(kind, key);
  context_.publisher.mark(kind, key);
  note_new(objects, context_.objects, kind, key);
  changes_.wake(*event_of(kind, kUpdate), objects);
}

// A deleted claim goes when no pod uses it; a deleted volume when no claim is bound to it.
void VolumeBinder::delete_unused() {
  bool changed = false;
  for (const auto& [kind, key] : std::set(terminating_)) {
    std::string released;
    if (kind == Kind::persistent_volume_claim) {
      if (is_used(key) || !events_.claim_gone(key)) continue;
      if (auto claim = context_.objects.claim(key); claim != nullptr) released = claim->volume_name;
      release(released, key);
    } else if (auto volume = context_.objects.volume(key);
               volume != nullptr && (volume->phase == "Bound" || is_reserved(key))) {
      continue;
    }
    terminating_.erase({kind, key});
    changed = true;
    if (!context_.objects.has(kind, key)) continue;
    const auto volume = kind == Kind::persistent_volume ? context_.objects.volume(key) : nullptr;
    changes_.erase(kind, key);
    if (volume != nullptr) offer_again(*volume);
    if (!released.empty()) provisioned_.reclaim_volume(released);
  }
  if (changed) save_pending();
}

// By deleting a volume that a device offers the operator gives it free: it comes back unclaimed.
void VolumeBinder::offer_again(const PersistentVolume& deleted) {
  auto offered_by = deleted.metadata.annotations.find(std::string(kOfferedBy));
  if (offered_by == deleted.metadata.annotations.end() || context_.nodes.find(offered_by->second) == nullptr) return;
  events_.local_volumes_freed(offered_by->second);
}

// The claim is gone: its volume keeps the data and waits for the operator (reclaim policy Retain).
void VolumeBinder::release(const std::string& name, const std::string& claim_key) {
  auto volume = context_.objects.volume(name);
  if (volume == nullptr || volume->claim_ref != claim_key) return;
  EventObjects objects;
  objects.old_volume = volume;
  PersistentVolume released = *volume;
  released.phase = "Released";
  released.manifest.set("status", Json(Json::Object{{"phase", "Released"}}));
  context_.objects.put(std::move(released));
  context_.publisher.mirror(Kind::persistent_volume, name);
  context_.publisher.mark(Kind::persistent_volume, name);
  note_new(objects, context_.objects, Kind::persistent_volume, name);
  changes_.wake(*event_of(Kind::persistent_volume, kUpdate), objects);
}

void VolumeBinder::save_pending() {
  Json list = Json::array();
  for (const auto& [kind, key] : terminating_) list.push_back(std::string(describe(kind).plural) + "/" + key);
  for (const auto& [claim, volume] : bound_by_slots_) {
    list.push_back(Json(Json::Object{{"claim", Json(claim)}, {"volume", Json(volume)}}));
  }
  context_.store.put(Table::meta, std::string(kRecord), list.dump());
}

Status VolumeBinder::load(const RecordView& record) {
  Result<Json> list = Json::parse(record.value, {.bytes = record.value.size(), .depth = 8});
  if (!list || !list->is_array()) return Status::error("stored meta \"doomed\": expected a list");
  for (const Json& entry : list->as_array()) {
    if (entry.is_object()) bound_by_slots_.emplace(entry.string_at("claim"), entry.string_at("volume"));
    if (!entry.is_string()) continue;
    const std::string& text = entry.as_string();
    const std::size_t slash = text.find('/');
    const KindName* kind = find_kind(text.substr(0, slash));
    if (kind != nullptr && slash != std::string::npos) terminating_.insert({kind->kind, text.substr(slash + 1)});
  }
  return Status::ok();
}

void VolumeBinder::restore() {
  for (const auto& [kind, key] : terminating_) context_.objects.mark_deleting(kind, key);
}

}  // namespace berth
