#include "core/placement/ephemeral_claims.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

std::string name_of_claim(const Pod& pod, const std::string& volume) { return pod.metadata.name + "-" + volume; }

bool has_ephemeral(const Pod& pod) {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(), [](const PodVolume& volume) { return volume.ephemeral; });
}

bool is_owner(const Pod& pod, const PersistentVolumeClaim& claim) {
  return claim.metadata.controller_uid == pod.uid() && !pod.uid().empty();
}

// The uid of the pod that the claim was made for; empty: for none.
std::string owner_of(const PersistentVolumeClaim& claim) {
  const Json* owners = claim.manifest.find("metadata")->find("ownerReferences");
  if (owners == nullptr || !owners->is_array() || claim.metadata.controller_uid.empty()) return {};
  const Json uid(claim.metadata.controller_uid.get());
  const bool is_pod = std::any_of(owners->as_array().begin(), owners->as_array().end(), [&uid](const Json& owner) {
    const Json* said = owner.find("uid");
    return owner.string_at("kind") == "Pod" && said != nullptr && *said == uid;
  });
  return is_pod ? std::string(claim.metadata.controller_uid.get()) : std::string();
}

// spec.volumes[].ephemeral.volumeClaimTemplate of the volume; null: none.
const Json* template_of(const Json& manifest, const std::string& volume) {
  const Json* spec = manifest.find("spec");
  const Json* volumes = spec == nullptr ? nullptr : spec->find("volumes");
  if (volumes == nullptr || !volumes->is_array()) return nullptr;
  for (const Json& each : volumes->as_array()) {
    const Json* source = each.is_object() && each.string_at("name") == volume ? each.find("ephemeral") : nullptr;
    const Json* found = source == nullptr ? nullptr : source->find("volumeClaimTemplate");
    if (found != nullptr && found->is_object()) return found;
  }
  return nullptr;
}

// controller.go handleVolume: labels, annotations and spec are the template's.
Json claim_of(const Pod& pod, const std::string& volume, const Json& claim_template) {
  Json owner = Json::object();
  owner.set("apiVersion", "v1").set("kind", "Pod").set("name", pod.metadata.name);
  owner.set("uid", pod.metadata.uid.get()).set("controller", true).set("blockOwnerDeletion", true);
  Json metadata = Json::object();
  metadata.set("name", name_of_claim(pod, volume)).set("namespace", pod.metadata.namespace_.get());
  metadata.set("ownerReferences", Json(Json::Array{std::move(owner)}));
  const Json* given = claim_template.find("metadata");
  for (const char* key : {"labels", "annotations"}) {
    const Json* value = given == nullptr ? nullptr : given->find(key);
    if (value != nullptr) metadata.set(key, *value);
  }
  Json claim = Json::object();
  claim.set("apiVersion", "v1").set("kind", "PersistentVolumeClaim").set("metadata", std::move(metadata));
  const Json* spec = claim_template.find("spec");
  claim.set("spec", spec == nullptr ? Json::object() : *spec);
  return claim;
}

}  // namespace

Result<std::vector<PersistentVolumeClaim>> claims_of_templates(const Pod& pod) {
  std::vector<PersistentVolumeClaim> claims;
  if (!has_ephemeral(pod)) return claims;
  const Json manifest = pod.manifest().json();
  for (const PodVolume& volume : pod.volumes) {
    if (!volume.ephemeral) continue;
    const std::string path = "spec.volumes: " + volume.name + ": ephemeral.volumeClaimTemplate";
    const Json* claim_template = template_of(manifest, volume.name);
    if (claim_template == nullptr) return Status::error(path + ": missing; expected an object with spec");
    auto decoded =
        decode_persistent_volume_claim(claim_of(pod, volume.name, *claim_template), nullptr, Rules::enforced);
    if (!decoded) return Status::error(path + ": " + decoded.error().message());
    claims.push_back(std::move(*decoded));
  }
  return claims;
}

void EphemeralClaims::make(const Pod& pod) {
  if (!has_ephemeral(pod)) return;
  const bool is_adopting = context_.identity->adopting;
  looked_ = looked_ && !is_adopting;
  if (is_adopting || !make_all(pod)) missing_.insert(pod.metadata.key());
}

bool EphemeralClaims::make_all(const Pod& pod) {
  const Json manifest = pod.manifest().json();
  bool all = true;
  for (const PodVolume& volume : pod.volumes) {
    if (!volume.ephemeral) continue;
    const std::string key = pod.metadata.namespace_ + "/" + name_of_claim(pod, volume.name);
    if (const auto known = context_.objects.claim(key); known != nullptr) {
      all = all && is_owner(pod, *known);
      continue;
    }
    const Json* claim_template = template_of(manifest, volume.name);
    if (claim_template == nullptr) continue;  // accepted by an earlier version
    const auto made =
        admission_.accept(Kind::persistent_volume_claim, claim_of(pod, volume.name, *claim_template), key);
    all = all && made.has_value();
  }
  return all;
}

void EphemeralClaims::remove(const Pod& pod) {
  missing_.erase(pod.metadata.key());
  for (const PodVolume& volume : pod.volumes) {
    if (!volume.ephemeral) continue;
    const std::string key = pod.metadata.namespace_ + "/" + name_of_claim(pod, volume.name);
    const auto claim = context_.objects.claim(key);
    if (claim != nullptr && is_owner(pod, *claim)) volumes_.begin_delete(Kind::persistent_volume_claim, key);
  }
}

void EphemeralClaims::make_missing() {
  if (!std::exchange(looked_, true)) look_at_all();
  for (const std::string& key : std::set(missing_)) {
    const PodEntry* entry = context_.objects.pods().find(key);
    if (entry == nullptr || entry->deleting || entry->finished || make_all(*entry->pod)) missing_.erase(key);
  }
}

// A store that was lost may have come back with claims of pods that were deleted, and without the claims of others.
void EphemeralClaims::look_at_all() {
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    if (has_ephemeral(*entry.pod)) missing_.insert(std::string(key));
  }
  for (const std::string& key : context_.objects.keys(Kind::persistent_volume_claim)) {
    const std::string owner = owner_of(*context_.objects.claim(key));
    if (owner.empty() || context_.objects.pods().find_by_uid(owner) != nullptr) continue;
    if (!volumes_.is_terminating(Kind::persistent_volume_claim, key)) {
      volumes_.begin_delete(Kind::persistent_volume_claim, key);
    }
  }
}

}  // namespace berth
