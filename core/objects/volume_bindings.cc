// Claims and volumes as the binding of a pod changes them.
#include <algorithm>

#include "core/api/volume_match.h"
#include "core/objects/volume_bindings.h"

namespace berth {

namespace {

constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

}  // namespace

void VolumeBindings::bind_volumes(const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& bound_volume : bound_volumes) {
    const auto claim = objects_.claim(bound_volume.claim);
    const auto volume = objects_.volume(bound_volume.volume);
    if (is_bound(bound_volume)) continue;
    if (volume != nullptr) bind_volume(*volume, bound_volume.claim, claim.get());
    if (claim != nullptr) bind_claim(*claim, bound_volume.volume);
  }
}

bool VolumeBindings::is_bound(const BoundVolume& bound_volume) const {
  const auto claim = objects_.claim(bound_volume.claim);
  const auto volume = objects_.volume(bound_volume.volume);
  return claim != nullptr && volume != nullptr && volume->claim_ref == bound_volume.claim &&
         claim->volume_name == bound_volume.volume && claim->phase == "Bound";
}

// `claim` null: it is not known yet, and the volume is kept for it.
void VolumeBindings::bind_volume(PersistentVolume volume, const std::string& key, const PersistentVolumeClaim* claim) {
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
  objects_.put(std::move(volume));
}

// Also when the volume is not known yet: it has the claim's data.
void VolumeBindings::bind_claim(PersistentVolumeClaim claim, const std::string& volume) {
  if (claim.volume_name == volume && claim.phase == "Bound") return;
  claim.volume_name = volume;
  claim.phase = "Bound";
  Json spec = claim.manifest.find("spec") ? *claim.manifest.find("spec") : Json::object();
  spec.set("volumeName", volume);
  claim.manifest.set("spec", std::move(spec));
  claim.manifest.set("status", Json(Json::Object{{"phase", "Bound"}}));
  objects_.put(std::move(claim));
}

std::vector<BoundVolume> VolumeBindings::half_bindings(Kind kind, const std::string& key) const {
  std::vector<BoundVolume> halves;
  if (kind == Kind::persistent_volume_claim) {
    halves.push_back({key, objects_.claim(key)->volume_name, {}});
  } else if (const std::string claim_ref = objects_.volume(key)->claim_ref; !claim_ref.empty()) {
    halves.push_back({claim_ref, key, {}});
  } else {
    for (const auto& [name, claim] : objects_.all<PersistentVolumeClaim>()) {
      if (claim->volume_name == key) halves.push_back({name, key, {}});
    }
  }
  std::erase_if(halves, [this](const BoundVolume& half) { return !is_half(half); });
  return halves;
}

bool VolumeBindings::is_half(const BoundVolume& bound_volume) const {
  const auto mine = objects_.claim(bound_volume.claim);
  const auto its = objects_.volume(bound_volume.volume);
  if (mine == nullptr || its == nullptr) return false;
  const bool claim_agrees = mine->volume_name.empty() || mine->volume_name == bound_volume.volume;
  const bool volume_agrees = its->claim_ref.empty() || its->claim_ref == bound_volume.claim;
  const bool whole = mine->phase == "Bound" && its->phase == "Bound" && its->claim_ref == bound_volume.claim;
  return !whole && claim_agrees && volume_agrees && its->phase != "Released";
}

// pv_controller.go syncUnboundClaim: neither is asked when each names the other.
std::string VolumeBindings::mismatch_of(const BoundVolume& half) const {
  const auto claim = objects_.claim(half.claim);
  const auto volume = objects_.volume(half.volume);
  if (claim->phase == "Bound" || volume->phase == "Bound") return {};
  std::string_view why;
  if (volume->claim_ref.empty()) why = mismatch_of_named(*volume, *claim);
  if (claim->volume_name.empty()) why = mismatch_of_reserved(*volume, *claim);
  return why.empty() ? "" : "Cannot bind to requested volume \"" + half.volume + "\": " + std::string(why);
}

bool VolumeBindings::select_node(const std::string& claim, const std::string& node) {
  const auto before = objects_.claim(claim);
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
  objects_.put(std::move(selected));
  return true;
}

bool VolumeBindings::deselect_node(const std::string& claim, const std::string& node) {
  const auto before = objects_.claim(claim);
  if (before == nullptr || !before->volume_name.empty()) return false;
  const auto named = before->metadata.annotations.find(kSelectedNode);
  if (named == before->metadata.annotations.end() || named->second != node) return false;
  PersistentVolumeClaim free = *before;
  free.metadata.annotations.erase(kSelectedNode);
  if (Json* annotations = free.manifest.find("metadata")->find("annotations")) annotations->erase(kSelectedNode);
  objects_.put(std::move(free));
  return true;
}

}  // namespace berth
