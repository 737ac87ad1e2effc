#include "core/objects/workloads.h"

#include <algorithm>
#include <utility>

#include "core/api/workload.h"

namespace berth {
namespace {

std::string workload_record(Kind kind, const std::string& key) {
  return std::string(describe(kind).plural) + "/" + key;
}

Json with_status(Json manifest, const Json& status) {
  if (!status.is_null()) manifest.set("status", status);
  return manifest;
}

}  // namespace

Status Workloads::take(Kind kind, Json manifest, Json status, std::string& key, ObjectPtr& before) {
  Result<ObjectPtr> object = decode_workload(kind, with_status(manifest, status), Rules::off);
  if (!object) return object.error();
  key = (*object)->metadata.key();
  Entry& entry = shelves_[kind][key];
  before = std::exchange(entry.object, std::move(*object));
  entry.manifest = std::move(manifest);
  entry.status = std::move(status);
  return Status::ok();
}

Status Workloads::load(Kind kind, const Json& stored) {
  Json manifest = stored, status;
  if (const Json* said = stored.find("status")) status = *said;
  manifest.erase("status");
  std::string key;
  ObjectPtr before;
  return take(kind, std::move(manifest), std::move(status), key, before);
}

const Workloads::Shelf& Workloads::of(Kind kind) const {
  static const Shelf kNone;
  const auto found = shelves_.find(kind);
  return found == shelves_.end() ? kNone : found->second;
}

const Workloads::Entry* Workloads::find(Kind kind, const std::string& key) const {
  const Shelf& shelf = of(kind);
  const auto found = shelf.find(key);
  return found == shelf.end() ? nullptr : &found->second;
}

bool Workloads::empty() const {
  return std::all_of(shelves_.begin(), shelves_.end(), [](const auto& shelf) { return shelf.second.empty(); });
}

Status Workloads::put(Kind kind, Json manifest, Json status) {
  std::string key;
  ObjectPtr before;
  if (Status taken = take(kind, std::move(manifest), std::move(status), key, before); !taken.is_success()) return taken;
  save(kind, key);
  if (observer_) observer_(before, find(kind, key)->object);
  return Status::ok();
}

Status Workloads::put_status(Kind kind, const std::string& key, Json status, bool save_later) {
  if (!save_later) return put(kind, find(kind, key)->manifest, std::move(status));
  std::string taken_key;
  ObjectPtr before;
  if (Status taken = take(kind, find(kind, key)->manifest, std::move(status), taken_key, before); !taken.is_success()) {
    return taken;
  }
  unsaved_.insert({kind, key});
  if (observer_) observer_(before, find(kind, key)->object);
  return Status::ok();
}

void Workloads::save(Kind kind, const std::string& key) {
  const Entry& entry = *find(kind, key);
  store_.put(Table::object, workload_record(kind, key), with_status(entry.manifest, entry.status).dump());
  unsaved_.erase({kind, key});
}

void Workloads::save_deferred() {
  while (!unsaved_.empty()) {
    const auto [kind, key] = *unsaved_.begin();
    save(kind, key);
  }
}

void Workloads::erase(Kind kind, const std::string& key) {
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) return;
  const auto found = shelf->second.find(key);
  if (found == shelf->second.end()) return;
  const ObjectPtr before = std::move(found->second.object);
  shelf->second.erase(found);
  store_.erase(Table::object, workload_record(kind, key));
  unsaved_.erase({kind, key});
  if (observer_) observer_(before, nullptr);
}

}  // namespace berth
