#include "core/objects/objects.h"

#include <algorithm>
#include <type_traits>

#include "core/api/defaults.h"
#include "core/api/namespace.h"
#include "core/api/packed.h"
#include "core/api/service.h"
#include "core/api/workload.h"
#include "core/bytes.h"
#include "core/check.h"
#include "core/objects/accepting.h"
#include "core/objects/pod_record.h"
#include "core/objects/volume_manifest.h"

namespace berth {

namespace {

std::string record_key(Kind kind, const std::string& key) { return std::string(describe(kind).plural) + "/" + key; }

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

template <class Map>
std::optional<std::string> key_behind(const Map& map, const std::string& key) {
  const auto next = map.upper_bound(key);
  return next == map.end() ? std::nullopt : std::optional<std::string>(next->first);
}

template <class T>
std::vector<std::shared_ptr<const T>> all_of(const std::map<std::string, std::shared_ptr<const T>>& map) {
  std::vector<std::shared_ptr<const T>> all;
  for (const auto& [key, object] : map) all.push_back(object);
  return all;
}

// A kind by its type, and the decoder of its stored form.
template <class T>
struct Stored;
template <>
struct Stored<PersistentVolume> {
  static constexpr Kind kKind = Kind::persistent_volume;
  static constexpr auto kDecode = decode_persistent_volume;
};
template <>
struct Stored<PersistentVolumeClaim> {
  static constexpr Kind kKind = Kind::persistent_volume_claim;
  static constexpr auto kDecode = decode_persistent_volume_claim;
};
template <>
struct Stored<StorageClass> {
  static constexpr Kind kKind = Kind::storage_class;
  static constexpr auto kDecode = decode_storage_class;
};
template <>
struct Stored<PriorityClass> {
  static constexpr Kind kKind = Kind::priority_class;
  static constexpr auto kDecode = decode_priority_class;
};
template <>
struct Stored<Namespace> {
  static constexpr Kind kKind = Kind::namespace_;
  static constexpr auto kDecode = decode_namespace;
};
template <>
struct Stored<Service> {
  static constexpr Kind kKind = Kind::service;
  static constexpr auto kDecode = decode_service;
};
template <>
struct Stored<PodDisruptionBudget> {
  static constexpr Kind kKind = Kind::pod_disruption_budget;
  static constexpr auto kDecode = decode_pod_disruption_budget;
};
template <>
struct Stored<CsiNode> {
  static constexpr Kind kKind = Kind::csi_node;
  static constexpr auto kDecode = decode_csi_node;
};
template <>
struct Stored<CsiDriver> {
  static constexpr Kind kKind = Kind::csi_driver;
  static constexpr auto kDecode = decode_csi_driver;
};
template <>
struct Stored<CsiStorageCapacity> {
  static constexpr Kind kKind = Kind::csi_storage_capacity;
  static constexpr auto kDecode = decode_csi_storage_capacity;
};
template <>
struct Stored<ConfigMap> {
  static constexpr Kind kKind = Kind::config_map;
  static constexpr auto kDecode = decode_config_map;
};
template <>
struct Stored<Secret> {
  static constexpr Kind kKind = Kind::secret;
  static constexpr auto kDecode = decode_secret;
};

// Calls visit(shelf) with that of a kind that has one.
template <class Shelves, class Visit>
void with_shelf(Shelves& shelves, Kind kind, Visit visit) {
  const auto try_one = [&](auto& shelf) {
    using T = std::remove_const_t<typename std::decay_t<decltype(shelf)>::mapped_type::element_type>;
    if (Stored<T>::kKind == kind) visit(shelf);
  };
  std::apply([&](auto&... shelf) { (try_one(shelf), ...); }, shelves);
}

void stage(Store& store, Kind kind, const std::string& key, const Json& value) {
  store.put(Table::object, record_key(kind, key), value.dump());
}

constexpr Json::Limits kStoredLimits{.bytes = 1u << 20, .depth = 80};

}  // namespace

Status Objects::load(const RecordView& record) {
  const std::size_t slash = record.key.find('/');
  const auto damaged = [&record](const std::string& why) {
    return Status::error("stored object " + std::string(record.key) + ": " + why);
  };
  const KindName* kind = find_kind(record.key.substr(0, slash));
  if (kind != nullptr && kind->kind == Kind::pod) {
    const Status loaded = pods_.load(record.key.substr(slash + 1), record.value);
    return loaded.is_success() ? loaded : damaged(loaded.message());
  }
  if (kind == nullptr) return damaged("unknown kind");
  if (kind->kind == Kind::secret) {
    Secret secret = configs_.open(record.key, record.value);
    const std::string key = secret.metadata.key();
    std::get<Shelf<Secret>>(shelves_).insert_or_assign(key, std::make_shared<const Secret>(std::move(secret)));
    note_changed(Kind::secret, key);
    return Status::ok();
  }
  Result<Json> json = Json::parse(record.value, kind->kind == Kind::config_map ? kConfigLimits : kStoredLimits);
  if (!json) return damaged(json.error().message());
  if (kind->kind == Kind::node) {
    overlays_.insert_or_assign(std::string(record.key.substr(slash + 1)), std::move(*json));
    return Status::ok();
  }
  if (is_workload(kind->kind)) {
    const Status loaded = workloads_.load(kind->kind, *json);
    return loaded.is_success() ? loaded : damaged(loaded.message());
  }
  Status status;
  std::string key;
  with_shelf(shelves_, kind->kind, [&](auto& shelf) {
    using T = std::remove_const_t<typename std::decay_t<decltype(shelf)>::mapped_type::element_type>;
    Result<T> object = Stored<T>::kDecode(*json, nullptr, Rules::off);
    if (!object) {
      status = damaged(object.error().message());
      return;
    }
    key = object->metadata.key();
    shelf.insert_or_assign(key, std::make_shared<const T>(std::move(*object)));
  });
  note_changed(kind->kind, key);
  return status;
}

Status Objects::put_secret(Secret secret) {
  const std::string key = secret.metadata.key();
  const Result<std::string> sealed = configs_.seal(record_key(Kind::secret, key), secret);
  if (!sealed) return sealed.error();
  store_.put(Table::object, record_key(Kind::secret, key), *sealed);
  std::get<Shelf<Secret>>(shelves_).insert_or_assign(key, std::make_shared<const Secret>(std::move(secret)));
  note_changed(Kind::secret, key);
  return Status::ok();
}

const Json* Objects::overlay(const std::string& node) const {
  auto found = overlays_.find(node);
  return found == overlays_.end() ? nullptr : &found->second;
}

template <class T>
void Objects::put(T object) {
  static_assert(!std::is_same_v<T, Secret>, "see put_secret()");
  const std::string key = object.metadata.key();
  stage(store_, Stored<T>::kKind, key, object.manifest);
  std::get<Shelf<T>>(shelves_).insert_or_assign(key, std::make_shared<const T>(std::move(object)));
  note_changed(Stored<T>::kKind, key);
}
template void Objects::put(PersistentVolume);
template void Objects::put(PersistentVolumeClaim);
template void Objects::put(StorageClass);
template void Objects::put(PriorityClass);
template void Objects::put(Namespace);
template void Objects::put(Service);
template void Objects::put(PodDisruptionBudget);
template void Objects::put(CsiNode);
template void Objects::put(CsiDriver);
template void Objects::put(CsiStorageCapacity);
template void Objects::put(ConfigMap);

void Objects::put_overlay(const std::string& node, Json manifest) {
  stage(store_, Kind::node, node, manifest);
  overlays_.insert_or_assign(node, std::move(manifest));
}

void Objects::erase(Kind kind, const std::string& key) {
  CHECK(kind != Kind::pod);
  if (kind == Kind::node) overlays_.erase(key);
  with_shelf(shelves_, kind, [&key](auto& shelf) { shelf.erase(key); });
  note_changed(kind, key);
  store_.erase(Table::object, record_key(kind, key));
}

void Objects::mark_deleting(Kind kind, const std::string& key) {
  with_shelf(shelves_, kind, [&key](auto& shelf) {
    const auto found = shelf.find(key);
    if (found == shelf.end()) return;
    auto leaving =
        std::make_shared<std::remove_const_t<std::remove_reference_t<decltype(*found->second)>>>(*found->second);
    leaving->metadata.deleting = true;
    found->second = std::move(leaving);
  });
  note_changed(kind, key);
}

void Objects::note_changed(Kind kind, const std::string& key) {
  if (is_config(kind)) {
    const Json* manifest = find_other(kind, key);
    configs_.note_changed(kind, key, manifest == nullptr ? 0 : manifest->dump().size());
  }
  if (kind != Kind::persistent_volume) return;
  volume_changes_.note(key);
  const auto volume = find<PersistentVolume>(key);
  const std::string maker = volume == nullptr ? std::string() : maker_of(*volume);
  const auto known = makers_.find(key);
  if (known != makers_.end()) {
    if (known->second == maker) return;
    const auto made = made_by_.find(known->second);
    made->second.erase(key);
    if (made->second.empty()) made_by_.erase(made);
    makers_.erase(known);
  }
  if (maker.empty()) return;
  makers_.emplace(key, maker);
  made_by_[maker].insert(key);
}

const std::set<std::string>& Objects::volumes_made_by(const std::string& node) const {
  static const std::set<std::string> kNone;
  const auto found = made_by_.find(node);
  return found == made_by_.end() ? kNone : found->second;
}

bool Objects::has(Kind kind, const std::string& key) const {
  return kind == Kind::pod ? pods_.find(key) != nullptr : find_other(kind, key) != nullptr;
}

Json Objects::manifest(Kind kind, const std::string& key) const {
  if (kind == Kind::pod) {
    const PodEntry* entry = pods_.find(key);
    return entry == nullptr ? Json() : entry->pod->manifest().json();
  }
  const Json* manifest = find_other(kind, key);
  return manifest == nullptr ? Json() : *manifest;
}

std::optional<std::string> Objects::text(Kind kind, const std::string& key) const {
  if (kind == Kind::pod) {
    const PodEntry* entry = pods_.find(key);
    return entry == nullptr ? std::nullopt : std::optional(entry->pod->manifest().text());
  }
  const Json* manifest = find_other(kind, key);
  return manifest == nullptr ? std::nullopt : std::optional(manifest->dump());
}

const Json* Objects::find_other(Kind kind, const std::string& key) const {
  if (kind == Kind::node) return overlay(key);
  if (is_workload(kind)) {
    const Workloads::Entry* entry = workloads_.find(kind, key);
    return entry == nullptr ? nullptr : &entry->manifest;
  }
  const Json* manifest = nullptr;
  with_shelf(shelves_, kind, [&](const auto& shelf) {
    if (const auto found = shelf.find(key); found != shelf.end()) manifest = &found->second->manifest;
  });
  return manifest;
}

std::vector<std::string> Objects::keys(Kind kind) const {
  if (kind == Kind::node) return keys_of(overlays_);
  if (is_workload(kind)) return keys_of(workloads_.of(kind));
  std::vector<std::string> keys;
  if (kind == Kind::pod) {
    keys = keys_of(pods_.all());
    std::sort(keys.begin(), keys.end());
  }
  with_shelf(shelves_, kind, [&keys](const auto& shelf) { keys = keys_of(shelf); });
  return keys;
}

std::optional<std::string> Objects::next_key(Kind kind, Place& place) const {
  std::optional<std::string> next;
  if (kind == Kind::pod) {
    const Pods::Entries& pods = pods_.all();
    const Pods::Entries::Index index = pods.next_used(place.pod);
    if (index == Pods::Entries::kNone) return std::nullopt;
    place.pod = index + 1;
    return pods[index].key;
  }
  if (kind == Kind::node) next = key_behind(overlays_, place.key);
  if (is_workload(kind)) next = key_behind(workloads_.of(kind), place.key);
  with_shelf(shelves_, kind, [&](const auto& shelf) { next = key_behind(shelf, place.key); });
  if (next) place.key = *next;
  return next;
}

std::shared_ptr<const PersistentVolumeClaim> Objects::claim(const std::string& key) const {
  auto found = find<PersistentVolumeClaim>(key);
  if (found != nullptr || supposed_.empty()) return found;
  const auto supposed = supposed_.find(key);
  return supposed == supposed_.end() ? nullptr : supposed->second;
}
void Objects::suppose(const std::vector<PersistentVolumeClaim>& claims) {
  supposed_.clear();
  for (const PersistentVolumeClaim& claim : claims) {
    supposed_.emplace(claim.metadata.key(), std::make_shared<const PersistentVolumeClaim>(claim));
  }
}
std::shared_ptr<const PersistentVolume> Objects::volume(const std::string& name) const {
  return find<PersistentVolume>(name);
}
std::shared_ptr<const StorageClass> Objects::storage_class(const std::string& name) const {
  return find<StorageClass>(name);
}
std::shared_ptr<const CsiNode> Objects::csi_node(const std::string& node) const { return find<CsiNode>(node); }
std::shared_ptr<const CsiDriver> Objects::csi_driver(const std::string& name) const { return find<CsiDriver>(name); }
std::shared_ptr<const Namespace> Objects::name_space(std::string_view name) const {
  return find<Namespace>(std::string(name));
}

std::vector<std::shared_ptr<const PersistentVolume>> Objects::volumes_of_class(const std::string& name) const {
  std::vector<std::shared_ptr<const PersistentVolume>> found;
  for (const auto& [key, volume] : shelf<PersistentVolume>()) {
    if (volume->storage_class_name == name) found.push_back(volume);
  }
  return found;
}

std::vector<std::shared_ptr<const CsiStorageCapacity>> Objects::csi_storage_capacities() const {
  return all_of(shelf<CsiStorageCapacity>());
}

std::vector<std::shared_ptr<const Service>> Objects::services(std::string_view name_space) const {
  std::vector<std::shared_ptr<const Service>> found;
  for (const auto& [key, service] : shelf<Service>()) {
    if (service->metadata.namespace_ == name_space) found.push_back(service);
  }
  return found;
}

std::vector<std::shared_ptr<const PodDisruptionBudget>> Objects::disruption_budgets() const {
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets;
  for (const auto& [key, budget] : shelf<PodDisruptionBudget>()) {
    budgets.push_back(budget);
    if (budget->has_status) continue;
    auto counted = std::make_shared<PodDisruptionBudget>(*budget);
    counted->disruptions_allowed = disruption_of(*budget).disruptions_allowed;
    budgets.back() = std::move(counted);
  }
  return budgets;
}

DisruptionStatus Objects::disruption_of(const PodDisruptionBudget& budget) const {
  return disruption_rule_ ? disruption_rule_(budget) : DisruptionStatus();
}

}  // namespace berth
