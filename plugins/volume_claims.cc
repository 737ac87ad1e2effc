#include "plugins/volume_claims.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/framework/events.h"

namespace berth {

std::vector<ClaimUse> claims_used(const Pod& pod) {
  std::vector<ClaimUse> used;
  for (const PodVolume& volume : pod.volumes) {
    if (!volume.claim_name.empty()) {
      used.push_back({volume.claim_name, false});
    } else if (volume.ephemeral) {
      used.push_back({pod.metadata.name + "-" + volume.name, true});
    }
  }
  return used;
}

std::string claim_key(const Pod& pod, const ClaimUse& use) { return pod.metadata.namespace_ + "/" + use.name; }

bool uses_claim(const Pod& pod, const PersistentVolumeClaim& claim) {
  if (pod.metadata.namespace_ != claim.metadata.namespace_) return false;
  const std::vector<ClaimUse> used = claims_used(pod);
  return std::any_of(used.begin(), used.end(),
                     [&claim](const ClaimUse& use) { return use.name == claim.metadata.name; });
}

bool names_claim(const Pod& pod, const PersistentVolumeClaim& claim) {
  if (pod.metadata.namespace_ != claim.metadata.namespace_) return false;
  return std::any_of(pod.volumes.begin(), pod.volumes.end(),
                     [&claim](const PodVolume& volume) { return volume.claim_name == claim.metadata.name; });
}

Hint after_used_claim(const Pod& pod, const EventObjects& objects) {
  return objects.new_claim == nullptr || uses_claim(pod, *objects.new_claim) ? Hint::queue : Hint::skip;
}

Hint after_named_claim(const Pod& pod, const EventObjects& objects) {
  return objects.new_claim == nullptr || names_claim(pod, *objects.new_claim) ? Hint::queue : Hint::skip;
}

std::optional<std::string> not_owned(const Pod& pod, const PersistentVolumeClaim& claim) {
  if (claim.metadata.controller_uid == pod.uid() && !pod.uid().empty()) return std::nullopt;
  return "PVC " + claim.metadata.key() + " was not created for pod " + pod.metadata.key() + " (pod is not owner)";
}

std::string claim_not_found(std::string_view name) {
  return "persistentvolumeclaim \"" + std::string(name) + "\" not found";
}

std::string class_of(const PersistentVolumeClaim& claim) { return claim.storage_class_name.value_or(""); }

bool is_bound(const PersistentVolumeClaim& claim) {
  const bool complete =
      claim.phase == "Bound" || claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed");
  return !claim.volume_name.empty() && complete;
}

const std::string* selected_node(const PersistentVolumeClaim& claim) {
  const auto found = claim.metadata.annotations.find(std::string(kSelectedNode));
  return found == claim.metadata.annotations.end() ? nullptr : &found->second;
}

}  // namespace berth
