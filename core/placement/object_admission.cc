#include "core/placement/object_admission.h"

#include "core/api/config_objects.h"
#include "core/api/namespace.h"
#include "core/api/service.h"
#include "core/api/timestamp.h"
#include "core/check.h"
#include "core/json/members.h"
#include "core/objects/accepting.h"
#include "core/objects/look_ups.h"
#include "core/objects/volume_directories.h"

namespace berth {

namespace {

// In memory each takes some times its text.
constexpr std::size_t kAllConfigBytesMax = 32 << 20;

void keep_uid(Json& manifest, const Json& before) {
  const Json* metadata = before.find("metadata");
  const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
  if (Json* mine = object_at(manifest, "metadata"); uid != nullptr && mine != nullptr) mine->set("uid", *uid);
}

void keep_creation_time(Json& manifest, const Json& before) {
  const std::string created = member(before, "metadata").string_at("creationTimestamp");
  Json* mine = object_at(manifest, "metadata");
  if (mine != nullptr && !created.empty()) mine->set("creationTimestamp", created);
}

// The status of a volume or claim, and its binding once made.
void keep_binding(Json& manifest, const Json& before, std::string_view bound_to) {
  manifest.erase("status");
  if (const Json* status = before.find("status")) manifest.set("status", *status);
  Json* mine = object_at(manifest, "spec");
  if (mine == nullptr) return;
  // Half a binding, volumeName without its phase, would be neither bound nor free.
  mine->erase(bound_to);
  const Json* spec = before.find("spec");
  if (const Json* owned = spec == nullptr ? nullptr : spec->find(bound_to)) mine->set(bound_to, *owned);
}

// The class that a claim was given because it asks for none. Upstream's is immutable.
void keep_class(Json& manifest, const Json& before) {
  Json* mine = object_at(manifest, "spec");
  const Json* spec = before.find("spec");
  const Json* given = spec == nullptr ? nullptr : spec->find("storageClassName");
  if (mine == nullptr || given == nullptr) return;
  if (const Json* said = mine->find("storageClassName"); said != nullptr && !said->is_null()) return;
  mine->erase("storageClassName");
  mine->set("storageClassName", *given);
}

}  // namespace

// What only the gateway may say of an object that it has.
Json ObjectAdmission::with_owned_fields(Kind kind, const std::string& key, Json manifest) const {
  if (kind == Kind::secret) manifest = with_merged_string_data(std::move(manifest));
  const Json before = context_.objects.manifest(kind, key);
  if (before.is_null()) return manifest;
  keep_uid(manifest, before);
  if (is_config(kind)) keep_creation_time(manifest, before);
  if (kind == Kind::persistent_volume) keep_binding(manifest, before, "claimRef");
  if (kind == Kind::persistent_volume_claim) keep_class(manifest, before);
  if (kind == Kind::persistent_volume_claim) keep_binding(manifest, before, "volumeName");
  return manifest;
}

Status ObjectAdmission::may_take(Kind kind, const std::string& key) const {
  if (volumes_.is_terminating(kind, key)) {  // accepted now, it would go with the delete that waits
    return Status::error("the object is being deleted; apply it again when it is gone");
  }
  return context_.objects.has(kind, key) ? Status::ok() : context_.admission.capacity();
}

// A locked Secret gives way to another one of its name only once the operator has deleted it, or its key is back.
Status ObjectAdmission::may_take_config(Kind kind, const std::string& key, const Json& manifest) const {
  const std::size_t bytes = manifest.dump().size();
  if (bytes > kConfigTextMax) {
    return Status::error("the manifest has " + std::to_string(bytes) + " bytes, must be at most " +
                         std::to_string(kConfigTextMax) + "; move large data to a volume");
  }
  const std::size_t replaced = context_.objects.configs().bytes_of(kind, key);
  if (context_.objects.configs().bytes() - replaced + bytes > kAllConfigBytesMax) {
    return Status::unschedulable("ConfigMaps and Secrets take " + std::to_string(context_.objects.configs().bytes()) +
                                 " bytes, of " + std::to_string(kAllConfigBytesMax) +
                                 " at most; delete some of them first");
  }
  const Json before = context_.objects.manifest(kind, key);
  if (before.is_null()) return Status::ok();
  const auto secret = kind == Kind::secret ? context_.objects.find<Secret>(key) : nullptr;
  if (secret != nullptr && !secret->locked.empty()) {
    return Status::error("the Secret of this name cannot be read, and is kept: " + secret->locked);
  }
  return check_config_update(kind, before, manifest);
}

Result<Accepted> ObjectAdmission::check(Kind kind, const Json& object) {
  const Json manifest = as_accepted(kind, object);
  const std::string key = key_of(kind, manifest);
  if (Status may = may_take(kind, key); !may.is_success()) return may;
  Accepted accepted{context_.objects.has(kind, key) ? "updated" : "created", {}, {}, {}};
  Status kept = keep(kind, with_owned_fields(kind, key, manifest), {}, Stores::no, accepted);
  if (!kept.is_success()) return kept;
  return accepted;
}

Result<Accepted> ObjectAdmission::accept(Kind kind, const Json& object, const std::string& expected_key) {
  Json manifest = as_accepted(kind, object);
  const std::string key = expected_key.empty() ? key_of(kind, manifest) : expected_key;
  if (Status may = may_take(kind, key); !may.is_success()) return may;
  const bool known = context_.objects.has(kind, key);
  Warnings unsaid;
  if (kind == Kind::persistent_volume_claim && !known) {
    const auto claim =
        decode_named<PersistentVolumeClaim>(decode_persistent_volume_claim, manifest, expected_key, unsaid);
    if (claim) volumes_.settle_claim(key, manifest);
    if (claim) set_default_class(*claim, manifest);
  }
  EventObjects objects;
  note_old(objects, context_.objects, kind, key);
  Accepted accepted{known ? "updated" : "created", {}, {}, {}};
  Status kept = keep(kind, with_owned_fields(kind, key, manifest), expected_key, Stores::yes, accepted);
  if (!kept.is_success()) return kept;
  if (accepted.result == "unchanged") return accepted;
  context_.publisher.mark(kind, accepted.key);
  note_new(objects, context_.objects, kind, accepted.key);
  if (const auto event = event_of(kind, accepted.result == "created" ? kAdd : kUpdate)) changes_.wake(*event, objects);
  volumes_.join_halves(kind, accepted.key);
  if (kind == Kind::persistent_volume_claim && accepted.result == "created") tell_of_claim(accepted.key);
  context_.publisher.mirror(kind, accepted.key);
  return accepted;
}

// plugin/pkg/admission/storage/storageclass/setdefault. One that comes back bound has had its class, or none.
void ObjectAdmission::set_default_class(const PersistentVolumeClaim& claim, Json& manifest) const {
  if (claim.storage_class_name || claim.phase == "Bound" || context_.identity->adopting) return;
  const auto storage_class = default_storage_class(context_.objects);
  Json* spec = object_at(manifest, "spec");
  if (storage_class == nullptr || spec == nullptr) return;
  spec->erase("storageClassName");  // null
  spec->set("storageClassName", storage_class->metadata.name);
}

// As upstream's volume controller tells of one that a pod has to choose a volume for.
void ObjectAdmission::tell_of_claim(const std::string& key) const {
  const auto claim = context_.objects.claim(key);
  if (claim == nullptr || !claim->volume_name.empty()) return;
  const auto storage_class = context_.objects.storage_class(claim->storage_class_name.value_or(""));
  if (storage_class == nullptr || !storage_class->wait_for_first_consumer) return;
  context_.events.record({Kind::persistent_volume_claim,
                          key,
                          "Normal",
                          "WaitForFirstConsumer",
                          "waiting for first consumer to be created before binding",
                          {}});
}

Status ObjectAdmission::check_directory(const PersistentVolume& volume, bool from_topic, Warnings& warnings) const {
  const std::string& name = volume.metadata.name;
  if (const auto known = context_.objects.volume(name);
      known != nullptr && known->local_path == volume.local_path && known->node_affinity == volume.node_affinity) {
    return {};
  }
  const auto shared = find_shared_directory(volume, context_.objects, context_.nodes);
  if (!shared) return {};
  if (!from_topic) return Status::error("spec.local.path: " + shared->text());
  warnings.push_back("spec.local.path: " + shared->text());
  context_.events.record({Kind::persistent_volume, name, "Warning", "SharedDirectory", shared->text(), {}});
  return {};
}

// Decodes, and stores if wanted; `accepted` then tells of it.
Status ObjectAdmission::keep(Kind kind, const Json& manifest, const std::string& expected_key, Stores stores,
                             Accepted& accepted) {
  const auto keep_as = [&]<class T>(Result<T> (*decode)(const Json&, Warnings*, Rules)) -> Status {
    Result<T> decoded = decode_named<T>(decode, manifest, expected_key, accepted.warnings);
    if (!decoded) return decoded.error();
    if constexpr (std::is_same_v<T, PersistentVolume>) {
      // A bound volume names the directory: bound without one, the row could not be read again and no device could take
      // it.
      if (decoded->local_path.empty()) {
        return Status::error("spec.local.path: is missing; only volumes on a node's own disk can be bound");
      }
      const Status may = check_directory(*decoded, !expected_key.empty(), accepted.warnings);
      if (!may.is_success()) return may;
    }
    if (decoded->metadata.uid.empty() && stores == Stores::yes) {
      decoded->metadata.uid = context_.random.hex_id();
      decoded->manifest.find("metadata")->set("uid", decoded->metadata.uid.get());
    }
    accepted.key = decoded->metadata.key();
    accepted.uid = decoded->metadata.uid;
    if constexpr (std::is_same_v<T, ConfigMap> || std::is_same_v<T, Secret>) {
      const Status may = may_take_config(kind, accepted.key, decoded->manifest);
      if (!may.is_success()) return may;
      Json* metadata = decoded->manifest.find("metadata");
      const Millis now = context_.clock.wall();
      if (stores == Stores::yes && is_clock_set(now) && metadata->find("creationTimestamp") == nullptr) {
        metadata->set("creationTimestamp", to_timestamp(now));
      }
    }
    if (context_.objects.manifest(kind, accepted.key) == decoded->manifest) {
      accepted.result = "unchanged";
    } else if (stores == Stores::yes) {
      if constexpr (std::is_same_v<T, Secret>) {
        return context_.objects.put_secret(std::move(*decoded));
      } else {
        context_.objects.put(std::move(*decoded));
      }
    }
    return Status::ok();
  };
  switch (kind) {
    case Kind::persistent_volume: return keep_as(decode_persistent_volume);
    case Kind::persistent_volume_claim: return keep_as(decode_persistent_volume_claim);
    case Kind::storage_class: return keep_as(decode_storage_class);
    case Kind::priority_class: return keep_as(decode_priority_class);
    case Kind::namespace_: return keep_as(decode_namespace);
    case Kind::service: return keep_as(decode_service);
    case Kind::pod_disruption_budget: return keep_as(decode_pod_disruption_budget);
    case Kind::csi_node: return keep_as(decode_csi_node);
    case Kind::csi_driver: return keep_as(decode_csi_driver);
    case Kind::csi_storage_capacity: return keep_as(decode_csi_storage_capacity);
    case Kind::config_map: return keep_as(decode_config_map);
    case Kind::secret: return keep_as(decode_secret);
    default: break;
  }
  check_failed("pods, nodes and workloads are accepted elsewhere", __FILE__, __LINE__);
}

}  // namespace berth
