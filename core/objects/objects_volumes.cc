// Claims and volumes as the binding of a pod changes them.
#include <algorithm>

#include "core/objects/objects.h"

namespace berth {

void Objects::bind_volumes(const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& bound_volume : bound_volumes) {
    const auto claim = this->claim(bound_volume.claim);
    const auto volume = this->volume(bound_volume.volume);
    if (is_bound(bound_volume)) continue;
    if (volume != nullptr) bind_volume(*volume, bound_volume.claim, claim.get());
    if (claim != nullptr) bind_claim(*claim, bound_volume.volume);
  }
}

bool Objects::is_bound(const BoundVolume& bound_volume) const {
  const auto claim = this->claim(bound_volume.claim);
  const auto volume = this->volume(bound_volume.volume);
  return claim != nullptr && volume != nullptr && volume->claim_ref == bound_volume.claim &&
         claim->volume_name == bound_volume.volume && claim->phase == "Bound";
}

// `claim` null: it is not known yet, and the volume is kept for it.
void Objects::bind_volume(PersistentVolume volume, const std::string& key, const PersistentVolumeClaim* claim) {
  if (claim == nullptr && volume.claim_ref == key) return;
  volume.claim_ref = key;
  Json reference = Json::object();
  reference.set("kind", "PersistentVolumeClaim");
  reference.set("namespace", key.substr(0, key.find('/')));
  reference.set("name", key.substr(key.find('/') + 1));
  if (claim != nullptr) {
    volume.claim_ref_uid = claim->metadata.uid;
    volume.phase = "Bound";
    reference.set("uid", claim->metadata.uid.get());
    volume.manifest.set("status", Json(Json::Object{{"phase", "Bound"}}));
  }
  Json spec = volume.manifest.find("spec") ? *volume.manifest.find("spec") : Json::object();
  spec.set("claimRef", std::move(reference));
  volume.manifest.set("spec", std::move(spec));
  put(std::move(volume));
}

// Also when the volume is not known yet: it has the claim's data.
void Objects::bind_claim(PersistentVolumeClaim claim, const std::string& volume) {
  if (claim.volume_name == volume && claim.phase == "Bound") return;
  claim.volume_name = volume;
  claim.phase = "Bound";
  Json spec = claim.manifest.find("spec") ? *claim.manifest.find("spec") : Json::object();
  spec.set("volumeName", volume);
  claim.manifest.set("spec", std::move(spec));
  claim.manifest.set("status", Json(Json::Object{{"phase", "Bound"}}));
  put(std::move(claim));
}

std::optional<BoundVolume> Objects::half_binding(Kind kind, const std::string& key) const {
  BoundVolume bound_volume;
  if (kind == Kind::persistent_volume_claim) {
    bound_volume = {key, claim(key)->volume_name, {}};
  } else {
    bound_volume = {volume(key)->claim_ref, key, {}};
    for (const auto& [name, claim] : shelf<PersistentVolumeClaim>()) {
      if (bound_volume.claim.empty() && claim->volume_name == key) bound_volume.claim = name;
    }
  }
  const auto mine = claim(bound_volume.claim);
  const auto its = volume(bound_volume.volume);
  if (mine == nullptr || its == nullptr) return std::nullopt;
  const bool claim_agrees = mine->volume_name.empty() || mine->volume_name == bound_volume.volume;
  const bool volume_agrees = its->claim_ref.empty() || its->claim_ref == bound_volume.claim;
  const bool whole = mine->phase == "Bound" && its->phase == "Bound" && its->claim_ref == bound_volume.claim;
  if (whole || !claim_agrees || !volume_agrees || its->phase == "Released") return std::nullopt;
  return bound_volume;
}

bool Objects::select_node(const std::string& claim, const std::string& node) {
  constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
  const auto before = this->claim(claim);
  if (before == nullptr) return false;
  PersistentVolumeClaim selected = *before;
  std::string& named = selected.metadata.annotations[kSelectedNode];
  if (named == node) return false;
  named = node;
  Json metadata = *selected.manifest.find("metadata");
  Json annotations = metadata.find("annotations") ? *metadata.find("annotations") : Json::object();
  annotations.set(kSelectedNode, node);
  metadata.set("annotations", std::move(annotations));
  selected.manifest.set("metadata", std::move(metadata));
  put(std::move(selected));
  return true;
}

std::vector<std::string> Objects::pods_using(const std::string& claim_key) const {
  std::vector<std::string> users;
  for (const auto& [key, entry] : pods_) {
    if (entry.finished) continue;
    const ObjectMeta& pod = entry.pod->metadata;
    const auto& volumes = entry.pod->volumes;
    if (std::any_of(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
          const std::string name = volume.ephemeral ? pod.name + "-" + volume.name : volume.claim_name;
          return !name.empty() && pod.namespace_ + "/" + name == claim_key;
        })) {
      users.push_back(key);
    }
  }
  return users;
}

}  // namespace berth
