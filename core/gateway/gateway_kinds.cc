// Manifests in, of the kinds that neither wait nor run: volumes and claims, classes, namespaces, services, budgets, and
// what CSI drivers say. Accepted, kept, told of, and erased.
#include "core/check.h"
#include "core/gateway/gateway.h"
#include "core/objects/accepting.h"
#include "core/objects/object_events.h"

namespace berth {

namespace {

Json* object_at(Json& manifest, std::string_view key) {
  Json* found = manifest.find(key);
  return found != nullptr && found->is_object() ? found : nullptr;  // else the decoder says what is wrong
}

void keep_uid(Json& manifest, const Json& before) {
  const Json* metadata = before.find("metadata");
  const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
  if (Json* mine = object_at(manifest, "metadata"); uid != nullptr && mine != nullptr) mine->set("uid", *uid);
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

}  // namespace

Json as_accepted(Kind kind, Json object) {
  Json* metadata = object_at(object, "metadata");
  if (metadata == nullptr) return object;
  if (describe(kind).namespaced && metadata->find("namespace") == nullptr) metadata->set("namespace", "default");
  metadata->erase("deletionTimestamp");
  metadata->erase("deletionGracePeriodSeconds");
  return object;
}

std::string uid_of(const Json& manifest) {
  const Json* metadata = manifest.find("metadata");
  const Json* uid = metadata == nullptr ? nullptr : metadata->find("uid");
  return uid != nullptr && uid->is_string() ? uid->as_string() : std::string();
}

std::string key_of(Kind kind, const Json& manifest) {
  const Json* metadata = manifest.find("metadata");
  const Json* name = metadata == nullptr ? nullptr : metadata->find("name");
  const Json* name_space = metadata == nullptr ? nullptr : metadata->find("namespace");
  if (name == nullptr || !name->is_string()) return {};
  if (!describe(kind).namespaced) return name->as_string();
  return (name_space != nullptr && name_space->is_string() ? name_space->as_string() : "default") + "/" +
         name->as_string();
}

// What only the gateway may say of an object that it has.
Json Gateway::with_owned_fields(Kind kind, const std::string& key, Json manifest) const {
  const Json before = objects_.manifest(kind, key);
  if (before.is_null()) return manifest;
  keep_uid(manifest, before);
  if (kind == Kind::persistent_volume) keep_binding(manifest, before, "claimRef");
  if (kind == Kind::persistent_volume_claim) keep_binding(manifest, before, "volumeName");
  return manifest;
}

Result<Gateway::Accepted> Gateway::accept_other(Kind kind, const Json& object, const std::string& expected_key) {
  Json manifest = as_accepted(kind, object);
  const std::string key = expected_key.empty() ? key_of(kind, manifest) : expected_key;
  if (terminating_.contains({kind, key})) {  // accepted now, it would go with the delete that waits
    return Status::error("the object is being deleted; apply it again when it is gone");
  }
  const bool known = objects_.has(kind, key);
  if (Status has = known ? Status::ok() : capacity(); !has.is_success()) return has;
  Warnings unsaid;
  if (kind == Kind::persistent_volume_claim && !known &&
      decode_named<PersistentVolumeClaim>(decode_persistent_volume_claim, manifest, expected_key, unsaid)) {
    settle_claim(key, manifest);
  }
  EventObjects objects;
  note_old(objects, objects_, kind, key);
  Accepted accepted{known ? "updated" : "created", {}, {}, {}};
  Status kept = keep_other(kind, with_owned_fields(kind, key, manifest), expected_key, accepted);
  if (!kept.is_success()) return kept;
  if (accepted.word == "unchanged") return accepted;
  publisher_.mark(kind, accepted.key);
  note_new(objects, objects_, kind, accepted.key);
  if (const auto event = event_of(kind, accepted.word == "created" ? kAdd : kUpdate)) wake(*event, objects);
  join_halves(kind, accepted.key);
  publisher_.mirror(kind, accepted.key);
  return accepted;
}

// Decodes and stores; `accepted` then tells of it.
Status Gateway::keep_other(Kind kind, const Json& manifest, const std::string& expected_key, Accepted& accepted) {
  const auto keep = [&]<class T>(Result<T> (*decode)(const Json&, Warnings*, Rules)) -> Status {
    Result<T> decoded = decode_named<T>(decode, manifest, expected_key, accepted.warnings);
    if (!decoded) return decoded.error();
    if constexpr (std::is_same_v<T, PersistentVolume>) {
      // A bound volume names the directory: bound without one, the row could not be read again and no device could take
      // it.
      if (decoded->local_path.empty()) {
        return Status::error("spec.local.path: is missing; only volumes on a node's own disk can be bound");
      }
    }
    if (decoded->metadata.uid.empty()) {
      decoded->metadata.uid = random_.hex_id();
      decoded->manifest.find("metadata")->set("uid", decoded->metadata.uid.get());
    }
    accepted.key = decoded->metadata.key();
    accepted.uid = decoded->metadata.uid;
    if (objects_.manifest(kind, accepted.key) == decoded->manifest) {
      accepted.word = "unchanged";
    } else {
      objects_.put(std::move(*decoded));
    }
    return Status::ok();
  };
  switch (kind) {
    case Kind::persistent_volume: return keep(decode_persistent_volume);
    case Kind::persistent_volume_claim: return keep(decode_persistent_volume_claim);
    case Kind::storage_class: return keep(decode_storage_class);
    case Kind::priority_class: return keep(decode_priority_class);
    case Kind::namespace_: return keep(decode_namespace);
    case Kind::service: return keep(decode_service);
    case Kind::pod_disruption_budget: return keep(decode_pod_disruption_budget);
    case Kind::csi_node: return keep(decode_csi_node);
    case Kind::csi_driver: return keep(decode_csi_driver);
    case Kind::csi_storage_capacity: return keep(decode_csi_storage_capacity);
    case Kind::pod:
    case Kind::node: break;
  }
  check_failed("a kind with a story of its own", __FILE__, __LINE__);
}

void Gateway::erase_other(Kind kind, const std::string& key) {
  EventObjects objects;
  note_old(objects, objects_, kind, key);
  superseded_.supersede({kind, key}, std::nullopt);
  objects_.erase(kind, key);
  publisher_.mirror(kind, key);
  publisher_.mark(kind, key);
  if (const auto event = event_of(kind, kDelete)) wake(*event, objects);
}

}  // namespace berth
