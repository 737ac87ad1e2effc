#include "tests/conformance/world_store.h"

#include <array>
#include <cstdio>
#include <utility>

#include "core/api/job.h"
#include "core/api/timestamp.h"
#include "core/controllers/garbage_collector.h"
#include "core/json/canonical.h"
#include "core/json/merge_patch.h"
#include "tests/conformance/daemon_node.h"
#include "tests/conformance/typed_objects.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

// The kinds that the recorded world has; an owner of another kind counts as existing.
constexpr std::array<std::string_view, 10> kWorldKinds{
    "Pod",         "ReplicaSet", "Deployment", "ReplicationController", "DaemonSet",
    "StatefulSet", "Job",        "CronJob",    "ControllerRevision",    "PersistentVolumeClaim"};

Json& metadata_of(Json& object) {
  if (object.find("metadata") == nullptr) object.set("metadata", Json::object());
  return *object.find("metadata");
}

// What is empty is absent.
void drop_empty(Json& metadata) {
  for (const std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Json* value = metadata.find(key);
    if (value == nullptr) continue;
    const bool is_empty = (value->is_array() && value->as_array().empty()) ||
                          (value->is_object() && value->as_object().empty()) || value->is_null();
    if (is_empty) metadata.erase(key);
  }
}

bool is_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_number()) return value == Json(0);
  if (value.is_string()) return value.as_string().empty();
  return value.is_array() ? value.as_array().empty() : value.as_object().empty();
}

bool is_equal(const Json& a, const Json& b) { return is_same(without_nothing(a), without_nothing(b)); }

bool is_finished_pod(const Json& pod) {
  const std::string phase = text(at(at(pod, "status"), "phase"));
  return phase == "Succeeded" || phase == "Failed";
}

std::int64_t grace_of(std::string_view kind, const Json& object, const DeleteOptions& options) {
  const Json& spec = at(object, "spec");
  if (kind != "Pod" || text(at(spec, "nodeName")).empty() || is_finished_pod(object)) return 0;
  if (options.grace_seconds) return *options.grace_seconds;
  const Json& own = at(spec, "terminationGracePeriodSeconds");
  return own.is_null() ? 30 : number(own);
}

}  // namespace

Json without_nothing(const Json& value) {
  if (value.is_array()) {
    Json items = Json::array();
    for (const Json& item : value.as_array()) items.push_back(without_nothing(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.as_object()) {
    Json kept = without_nothing(member);
    if (!is_nothing(kept)) object.set(key, std::move(kept));
  }
  return object;
}

ObjectKey key_named(std::string_view kind, std::string name_space, std::string name) {
  if (kind == "Node") return {"", std::move(name)};
  return {name_space.empty() ? "default" : std::move(name_space), std::move(name)};
}

Json conditions_by_type(const Json& conditions) {
  Json by_type = Json::object();
  for (const Json& each : list(conditions)) {
    Json rest = each;
    rest.erase("type");
    by_type.set(text(at(each, "type")), std::move(rest));
  }
  return by_type;
}

Json conditions_list(const Json& by_type) {
  Json conditions = Json::array();
  for (const auto& [type, rest] : by_type.as_object()) {
    Json each = Json::object().set("type", type);
    for (const auto& [key, value] : rest.as_object()) each.set(key, value);
    conditions.push_back(std::move(each));
  }
  return conditions;
}

std::string WorldStore::next_name(std::string_view kind, const Json& object) {
  const Json& metadata = at(object, "metadata");
  if (const std::string name = text(at(metadata, "name")); !name.empty()) return name;
  std::string prefix = text(at(metadata, "generateName"));
  if (const std::string node = kind == "Pod" ? daemon_node(object) : ""; !node.empty()) prefix += node + "-";
  char digits[16];
  std::snprintf(digits, sizeof digits, "%02d", ++names_[std::string(kind) + " " + prefix]);
  return prefix + digits;
}

std::string WorldStore::create(std::string_view kind, Json object) {
  Json& metadata = metadata_of(object);
  if (at(metadata, "namespace").is_null() && kind != "Node") metadata.set("namespace", "default");
  std::string name = next_name(kind, object);
  metadata.set("name", name);
  const ObjectKey key = key_named(kind, text(at(metadata, "namespace")), name);
  Shelf& shelf = shelves_[std::string(kind)];
  if (shelf.contains(key)) return "";
  std::string uid = std::string(kind) + "." + name;
  if (const int count = ++uids_[uid]; count > 1) uid += "." + std::to_string(count);
  metadata.set("uid", uid).set("generation", 1);
  const Millis created = parse_timestamp(text(at(metadata, "creationTimestamp"))).value_or(now_);
  metadata.set("creationTimestamp", to_timestamp(created));
  if (kind == "Job") set_job_defaults(object);
  drop_empty(metadata_of(object));
  if (kind == "Pod" && at(at(object, "status"), "phase").is_null()) {
    if (object.find("status") == nullptr) object.set("status", Json::object());
    object.find("status")->set("phase", "Pending");
  }
  ObjectPtr typed = typed_object(kind, object);
  changes_.push_back({nullptr, typed});
  shelf.emplace(key, Entry{std::move(object), std::move(typed), created});
  return name;
}

WorldStore::Entry* WorldStore::entry(std::string_view kind, const ObjectKey& key) {
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) return nullptr;
  const auto found = shelf->second.find(key);
  return found == shelf->second.end() ? nullptr : &found->second;
}

void WorldStore::store(std::string_view kind, Shelf::iterator where, Json changed) {
  Json& metadata = metadata_of(changed);
  drop_empty(metadata);
  ObjectPtr before = where->second.typed;
  const bool may_go = metadata.find("deletionTimestamp") != nullptr && metadata.find("finalizers") == nullptr &&
                      number(at(metadata, "deletionGracePeriodSeconds")) == 0;
  if (may_go) {
    changes_.push_back({std::move(before), nullptr});
    shelves_.find(kind)->second.erase(where);
    return;
  }
  if (!is_equal(at(changed, "spec"), at(where->second.json, "spec"))) {
    metadata.set("generation", number(at(metadata, "generation")) + 1);
  }
  where->second.typed = typed_object(kind, changed);
  where->second.json = std::move(changed);
  changes_.push_back({std::move(before), where->second.typed});
}

bool WorldStore::patch(std::string_view kind, const ObjectKey& key, const Json& merge) {
  const Entry* found = entry(kind, key);
  if (found == nullptr) return false;
  Json changed = found->json;
  Json without_status = merge;
  without_status.erase("status");
  apply_merge_patch(changed, without_status);
  drop_empty(metadata_of(changed));
  if (!is_equal(changed, found->json)) store(kind, shelves_.find(kind)->second.find(key), std::move(changed));
  return true;
}

bool WorldStore::patch_status(std::string_view kind, const ObjectKey& key, const Json& merge) {
  const Entry* found = entry(kind, key);
  if (found == nullptr) return false;
  Json changed = found->json;
  apply_merge_patch(changed, Json::object().set("status", at(merge, "status")));
  if (!is_equal(changed, found->json)) store(kind, shelves_.find(kind)->second.find(key), std::move(changed));
  return true;
}

bool WorldStore::patch_recorded(std::string_view kind, const ObjectKey& key, const Json& merge) {
  const Entry* found = entry(kind, key);
  if (found == nullptr) return false;
  Json converted = merge;
  if (Json* status = converted.find("status"); status != nullptr && status->find("conditions") != nullptr) {
    Json by_type = conditions_by_type(at(at(found->json, "status"), "conditions"));
    if (at(*status, "conditions").is_object()) {
      apply_merge_patch(by_type, at(*status, "conditions"));
      status->set("conditions", conditions_list(by_type));
    }
    patch_status(kind, key, converted);
  } else if (status != nullptr) {
    patch_status(kind, key, converted);
  }
  return patch(kind, key, converted);
}

void WorldStore::mark_deleted(Json& object, std::int64_t grace) {
  Json& metadata = metadata_of(object);
  metadata.set("deletionTimestamp", to_timestamp(now_ + grace * 1000));
  metadata.set("deletionGracePeriodSeconds", grace);
  metadata.set("generation", number(at(metadata, "generation")) + 1);
}

bool WorldStore::remove(std::string_view kind, const ObjectKey& key, const DeleteOptions& options) {
  const Entry* found = entry(kind, key);
  if (found == nullptr) return false;
  Json changed = found->json;
  Json& metadata = metadata_of(changed);
  if (const std::string since = text(at(metadata, "deletionTimestamp")); !since.empty()) {
    const std::int64_t grace = number(at(metadata, "deletionGracePeriodSeconds"));
    if (!options.grace_seconds || *options.grace_seconds >= grace) return true;
    metadata.set("deletionTimestamp", to_timestamp(*parse_timestamp(since) - (grace - *options.grace_seconds) * 1000));
    metadata.set("deletionGracePeriodSeconds", *options.grace_seconds);
  } else {
    const Propagation propagation = options.propagation.value_or(Propagation::background);
    if (propagation != Propagation::background) {
      Json finalizers = at(metadata, "finalizers");
      finalizers.push_back(std::string(propagation == Propagation::orphan ? kOrphanFinalizer : kForegroundFinalizer));
      metadata.set("finalizers", std::move(finalizers));
    }
    mark_deleted(changed, grace_of(kind, changed, options));
  }
  store(kind, shelves_.find(kind)->second.find(key), std::move(changed));
  return true;
}

Millis WorldStore::created_at(std::string_view kind, const ObjectKey& key) const {
  return shelves_.find(kind)->second.find(key)->second.created;
}

const Json* WorldStore::find(std::string_view kind, const ObjectKey& key) const {
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) return nullptr;
  const auto found = shelf->second.find(key);
  return found == shelf->second.end() ? nullptr : &found->second.json;
}

ObjectPtr WorldStore::find_typed(std::string_view kind, const ObjectKey& key) const {
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) return nullptr;
  const auto found = shelf->second.find(key);
  return found == shelf->second.end() ? nullptr : found->second.typed;
}

std::vector<ObjectKey> WorldStore::keys(std::string_view kind, std::string_view name_space) const {
  std::vector<ObjectKey> found;
  const auto shelf = shelves_.find(kind);
  if (shelf == shelves_.end()) return found;
  for (const auto& [key, entry] : shelf->second) {
    if (name_space.empty() || key.name_space == name_space) found.push_back(key);
  }
  return found;
}

std::vector<std::string> WorldStore::kinds() const {
  std::vector<std::string> found;
  for (const auto& [kind, shelf] : shelves_) found.push_back(kind);
  return found;
}

bool WorldStore::knows(std::string_view kind) const {
  for (const std::string_view each : kWorldKinds) {
    if (each == kind) return true;
  }
  return shelves_.contains(kind);
}

std::vector<ObjectChange> WorldStore::take_changes() { return std::exchange(changes_, {}); }

}  // namespace berth
