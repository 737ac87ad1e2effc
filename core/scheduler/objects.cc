#include "core/scheduler/objects.h"

#include "core/check.h"

namespace berth {

namespace {

std::string record_key(Kind kind, const std::string& key) { return std::string(describe(kind).plural) + "/" + key; }

template <class T>
std::shared_ptr<const T> find_in(const std::map<std::string, std::shared_ptr<const T>>& map, const std::string& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

template <class T>
void replace(std::map<std::string, std::shared_ptr<const T>>& map, T object) {
  const std::string key = object.metadata.key();
  map.insert_or_assign(key, std::make_shared<const T>(std::move(object)));
}

template <class T>
const Json* manifest_in(const std::map<std::string, std::shared_ptr<const T>>& map, const std::string& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second->manifest;
}

template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Decodes with `decode` and stores in `map`; gives the status.
template <class T, class Decode>
Status load_into(std::map<std::string, std::shared_ptr<const T>>& map, const Json& json, Decode decode) {
  Result<T> object = decode(json, nullptr);
  if (!object) return object.error();
  replace(map, std::move(*object));
  return Status::ok();
}

}  // namespace

Status Objects::load(const Record& record) {
  const std::size_t slash = record.key.find('/');
  const KindName* kind = find_kind(record.key.substr(0, slash));
  Result<Json> json = Json::parse(record.value, {.bytes = 1u << 20, .depth = 80});
  if (!json) return Status::error("stored object " + record.key + ": " + json.error().message());
  if (kind == nullptr) return Status::error("stored object " + record.key + ": unknown kind");
  Status status;
  switch (kind->kind) {
    case Kind::pod: {
      const Json* manifest = json->find("manifest");
      if (manifest == nullptr) return Status::error("stored object " + record.key + ": no manifest");
      Result<Pod> pod = decode_pod(*manifest, nullptr);
      if (!pod) return Status::error("stored object " + record.key + ": " + pod.error().message());
      PodEntry& entry = put_pod(std::make_shared<const Pod>(std::move(*pod)));
      entry.deleting = json->find("deleting") != nullptr;
      entry.finished = json->find("finished") != nullptr;
      if (const Json* observed = json->find("observed")) entry.observed = *observed;
      if (const Json* successor = json->find("successor")) entry.successor = *successor;
      return Status::ok();
    }
    case Kind::node: overlays_.insert_or_assign(record.key.substr(slash + 1), std::move(*json)); return Status::ok();
    case Kind::persistent_volume: status = load_into(volumes_, *json, decode_persistent_volume); break;
    case Kind::persistent_volume_claim: status = load_into(claims_, *json, decode_persistent_volume_claim); break;
    case Kind::storage_class: status = load_into(storage_classes_, *json, decode_storage_class); break;
    case Kind::priority_class: status = load_into(priority_classes_, *json, decode_priority_class); break;
    case Kind::namespace_: status = load_into(namespaces_, *json, decode_namespace); break;
  }
  if (!status.is_success()) return Status::error("stored object " + record.key + ": " + status.message());
  return status;
}

void Objects::stage(Kind kind, const std::string& key, const Json& value) {
  store_.put(Table::object, record_key(kind, key), value.dump());
}

PodEntry* Objects::find_pod(const std::string& key) {
  auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

const PodEntry* Objects::find_pod(const std::string& key) const {
  auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

PodEntry* Objects::find_pod_by_uid(const std::string& uid) {
  auto found = key_of_uid_.find(uid);
  return found == key_of_uid_.end() ? nullptr : find_pod(found->second);
}

PodEntry& Objects::put_pod(std::shared_ptr<const Pod> pod) {
  const std::string key = pod->metadata.key();
  PodEntry& entry = pods_[key];
  if (entry.pod != nullptr) CHECK(entry.pod->uid() == pod->uid());
  key_of_uid_[pod->uid()] = key;
  entry.pod = std::move(pod);
  return entry;
}

void Objects::save_pod(const std::string& key) {
  const PodEntry& entry = pods_.at(key);
  Json value = Json::object();
  value.set("manifest", entry.pod->manifest);
  if (entry.deleting) value.set("deleting", true);
  if (entry.finished) value.set("finished", true);
  // While the pod runs, its observed status is the device's to repeat; only a final one is kept.
  if (entry.finished && !entry.observed.is_null()) value.set("observed", entry.observed);
  if (!entry.successor.is_null()) value.set("successor", entry.successor);
  stage(Kind::pod, key, value);
}

void Objects::erase_pod(const std::string& key) {
  auto found = pods_.find(key);
  CHECK(found != pods_.end());
  key_of_uid_.erase(found->second.pod->uid());
  pods_.erase(found);
  store_.erase(Table::object, record_key(Kind::pod, key));
}

const Json* Objects::overlay(const std::string& node) const {
  auto found = overlays_.find(node);
  return found == overlays_.end() ? nullptr : &found->second;
}

void Objects::put(PersistentVolume volume) {
  stage(Kind::persistent_volume, volume.metadata.key(), volume.manifest);
  replace(volumes_, std::move(volume));
}
void Objects::put(PersistentVolumeClaim claim) {
  stage(Kind::persistent_volume_claim, claim.metadata.key(), claim.manifest);
  replace(claims_, std::move(claim));
}
void Objects::put(StorageClass storage_class) {
  stage(Kind::storage_class, storage_class.metadata.key(), storage_class.manifest);
  replace(storage_classes_, std::move(storage_class));
}
void Objects::put(PriorityClass priority_class) {
  stage(Kind::priority_class, priority_class.metadata.key(), priority_class.manifest);
  replace(priority_classes_, std::move(priority_class));
}
void Objects::put(Namespace name_space) {
  stage(Kind::namespace_, name_space.metadata.key(), name_space.manifest);
  replace(namespaces_, std::move(name_space));
}
void Objects::put_overlay(const std::string& node, Json manifest) {
  stage(Kind::node, node, manifest);
  overlays_.insert_or_assign(node, std::move(manifest));
}

void Objects::erase(Kind kind, const std::string& key) {
  CHECK(kind != Kind::pod);
  switch (kind) {
    case Kind::pod: break;
    case Kind::node: overlays_.erase(key); break;
    case Kind::persistent_volume: volumes_.erase(key); break;
    case Kind::persistent_volume_claim: claims_.erase(key); break;
    case Kind::storage_class: storage_classes_.erase(key); break;
    case Kind::priority_class: priority_classes_.erase(key); break;
    case Kind::namespace_: namespaces_.erase(key); break;
  }
  store_.erase(Table::object, record_key(kind, key));
}

const Json* Objects::manifest(Kind kind, const std::string& key) const {
  switch (kind) {
    case Kind::pod: {
      auto found = pods_.find(key);
      return found == pods_.end() ? nullptr : &found->second.pod->manifest;
    }
    case Kind::node: return overlay(key);
    case Kind::persistent_volume: return manifest_in(volumes_, key);
    case Kind::persistent_volume_claim: return manifest_in(claims_, key);
    case Kind::storage_class: return manifest_in(storage_classes_, key);
    case Kind::priority_class: return manifest_in(priority_classes_, key);
    case Kind::namespace_: return manifest_in(namespaces_, key);
  }
  return nullptr;
}

std::vector<std::string> Objects::keys(Kind kind) const {
  switch (kind) {
    case Kind::pod: return keys_of(pods_);
    case Kind::node: return keys_of(overlays_);
    case Kind::persistent_volume: return keys_of(volumes_);
    case Kind::persistent_volume_claim: return keys_of(claims_);
    case Kind::storage_class: return keys_of(storage_classes_);
    case Kind::priority_class: return keys_of(priority_classes_);
    case Kind::namespace_: return keys_of(namespaces_);
  }
  return {};
}

std::shared_ptr<const PriorityClass> Objects::priority_class(const std::string& name) const {
  return find_in(priority_classes_, name);
}

std::shared_ptr<const PriorityClass> Objects::default_priority_class() const {
  std::shared_ptr<const PriorityClass> best;
  for (const auto& [name, priority_class] : priority_classes_) {
    if (!priority_class->global_default) continue;
    if (best == nullptr || priority_class->value > best->value) best = priority_class;
  }
  return best;
}

void Objects::bind_volumes(const std::vector<VolumeGrant>& grants) {
  for (const VolumeGrant& grant : grants) {
    auto claim = this->claim(grant.claim);
    auto volume = this->volume(grant.volume);
    if (claim == nullptr || volume == nullptr) continue;  // deleted while the device answered; the pod keeps its path
    if (volume->claim_ref == grant.claim && claim->volume_name == grant.volume && claim->phase == "Bound") continue;

    PersistentVolume bound_volume = *volume;
    bound_volume.claim_ref = grant.claim;
    bound_volume.claim_ref_uid = claim->metadata.uid;
    bound_volume.phase = "Bound";
    Json reference = Json::object();
    reference.set("kind", "PersistentVolumeClaim");
    reference.set("namespace", claim->metadata.namespace_);
    reference.set("name", claim->metadata.name);
    reference.set("uid", claim->metadata.uid);
    Json spec = bound_volume.manifest.find("spec") ? *bound_volume.manifest.find("spec") : Json::object();
    spec.set("claimRef", std::move(reference));
    bound_volume.manifest.set("spec", std::move(spec));
    bound_volume.manifest.set("status", Json(Json::Object{{"phase", "Bound"}}));
    put(std::move(bound_volume));

    PersistentVolumeClaim bound_claim = *claim;
    bound_claim.volume_name = grant.volume;
    bound_claim.phase = "Bound";
    Json claim_spec = bound_claim.manifest.find("spec") ? *bound_claim.manifest.find("spec") : Json::object();
    claim_spec.set("volumeName", grant.volume);
    bound_claim.manifest.set("spec", std::move(claim_spec));
    bound_claim.manifest.set("status", Json(Json::Object{{"phase", "Bound"}}));
    put(std::move(bound_claim));
  }
}

std::optional<VolumeGrant> Objects::complete_binding(Kind kind, const std::string& key) {
  VolumeGrant grant;
  if (kind == Kind::persistent_volume_claim) {
    grant = {key, claim(key)->volume_name, {}};
  } else {
    grant = {volume(key)->claim_ref, key, {}};
    for (const auto& [name, claim] : claims_) {
      if (grant.claim.empty() && claim->volume_name == key) grant.claim = name;
    }
  }
  const auto mine = claim(grant.claim);
  const auto its = volume(grant.volume);
  if (mine == nullptr || its == nullptr) return std::nullopt;
  const bool claim_agrees = mine->volume_name.empty() || mine->volume_name == grant.volume;
  const bool volume_agrees = its->claim_ref.empty() || its->claim_ref == grant.claim;
  const bool whole = mine->phase == "Bound" && its->phase == "Bound" && its->claim_ref == grant.claim;
  if (whole || !claim_agrees || !volume_agrees || its->phase == "Released") return std::nullopt;
  bind_volumes({grant});
  return grant;
}

std::vector<std::string> Objects::pods_using(const std::string& claim_key) const {
  std::vector<std::string> users;
  for (const auto& [key, entry] : pods_) {
    if (entry.finished) continue;
    for (const PodVolume& volume : entry.pod->volumes) {
      if (volume.claim_name.empty()) continue;
      if (entry.pod->metadata.namespace_ + "/" + volume.claim_name == claim_key) {
        users.push_back(key);
        break;
      }
    }
  }
  return users;
}

std::shared_ptr<const PersistentVolumeClaim> Objects::claim(const std::string& key) const {
  return find_in(claims_, key);
}
std::shared_ptr<const PersistentVolume> Objects::volume(const std::string& name) const {
  return find_in(volumes_, name);
}
std::shared_ptr<const StorageClass> Objects::storage_class(const std::string& name) const {
  return find_in(storage_classes_, name);
}

std::vector<std::shared_ptr<const PersistentVolume>> Objects::volumes_of_class(const std::string& name) const {
  std::vector<std::shared_ptr<const PersistentVolume>> found;
  for (const auto& [key, volume] : volumes_) {
    if (volume->storage_class_name == name) found.push_back(volume);
  }
  return found;
}

}  // namespace berth
