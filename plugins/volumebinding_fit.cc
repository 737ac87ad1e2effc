#include "plugins/volumebinding_fit.h"

#include <set>

#include "core/api/node.h"
#include "plugins/volume_claims.h"
#include "plugins/volumebinding_match.h"
#include "plugins/volumebinding_provision.h"

namespace berth {

BoundVolume bound_volume(const PersistentVolumeClaim& claim, const PersistentVolume& volume) {
  return {claim.metadata.key(), volume.metadata.name, volume.local_path};
}

const char* bound_fit(const VolumeBindingState& volumes, const Node& node) {
  for (const auto& [claim, volume] : volumes.bound) {
    if (volume == nullptr) return kVolumeGone;
    if (!reaches(*volume, node)) return kElsewhere;
  }
  return nullptr;
}

namespace {

// Chooses a volume on the node for each claim if there is one; returns the claims without a volume.
std::vector<VolumeBindingState::Claim> match_delayed(const VolumeBindingState& volumes, const Node& node,
                                                     PodVolumes& decision) {
  std::set<std::string> taken;
  std::vector<VolumeBindingState::Claim> unmatched;
  for (const VolumeBindingState::DelayedClaim& delayed : volumes.delayed) {
    VolumeBindingState::Volume volume = delayed.reserved;
    if (volume == nullptr) {
      volume = delayed.candidates->smallest_for(*delayed.claim, node, taken);
    } else if (!reaches(*volume, node)) {
      volume = nullptr;
    }
    if (volume == nullptr) {
      unmatched.push_back(delayed.claim);
      continue;
    }
    taken.insert(volume->metadata.name);
    decision.bind.push_back(bound_volume(*delayed.claim, *volume));
  }
  return unmatched;
}

}  // namespace

Result<const char*> unbound_fit(const Lister& lister, const VolumeBindingState& volumes, const Node& node,
                                PodVolumes& decision) {
  std::vector<VolumeBindingState::Claim> to_provision;
  for (const VolumeBindingState::SelectedClaim& selected : volumes.selected) {
    if (selected.node != node.metadata.name) return kNoMatch;
    to_provision.push_back(selected.claim);
  }
  const std::vector<VolumeBindingState::Claim> unmatched = match_delayed(volumes, node, decision);
  to_provision.insert(to_provision.end(), unmatched.begin(), unmatched.end());
  std::map<std::string, Quantity> taken;                // by class, of the claims before
  std::size_t selected_left = volumes.selected.size();  // they come first
  for (const VolumeBindingState::Claim& claim : to_provision) {
    const bool is_selected = selected_left > 0;
    selected_left -= is_selected ? 1 : 0;
    Quantity& before = taken[class_of(*claim)];
    const Result<Provisioning> provisioning = can_provision(lister, volumes.pools, before, *claim, node, is_selected);
    if (!provisioning) return provisioning.error();
    if (*provisioning == Provisioning::impossible) return kNoMatch;
    if (*provisioning == Provisioning::no_space) return kNoSpace;
    const bool is_counted = is_selected && volumes.pools.is_promised(node, *claim);
    if (!is_counted) before = before + claim->request;
    decision.provision.push_back(claim->metadata.key());
  }
  return static_cast<const char*>(nullptr);
}

}  // namespace berth
