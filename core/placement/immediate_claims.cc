#include "core/placement/immediate_claims.h"

#include <tuple>

#include "core/api/volume.h"
#include "core/api/volume_match.h"

namespace berth {

namespace {

// index.go: of the sets of access modes that contain the claim's, the smaller ones come first; then the smallest volume
// (pv_helpers.go FindMatchingVolume). Upstream leaves equal ones to chance.
auto rank(const PersistentVolume& volume) {
  return std::tuple(volume.access_modes.size(), volume.capacity, std::string_view(volume.metadata.name));
}

}  // namespace

bool ImmediateClaims::is_immediate(const PersistentVolumeClaim& claim) const {
  if (!claim.volume_name.empty() || claim.phase != "Pending" || claim.metadata.deleting) return false;
  const std::string name = claim.storage_class_name.value_or("");
  if (name.empty()) return true;
  const auto storage_class = context_.objects.storage_class(name);
  return storage_class != nullptr && !storage_class->wait_for_first_consumer;
}

// FindMatchingVolume: a volume that was made for the claim comes before all others, whatever its class.
std::shared_ptr<const PersistentVolume> ImmediateClaims::reserved_for(const PersistentVolumeClaim& claim,
                                                                      const VolumesByClaim& reserved) const {
  const auto [first, last] = reserved.equal_range(claim.metadata.key());
  for (auto each = first; each != last; ++each) {
    const PersistentVolume& volume = *each->second;
    const bool is_its = volume.claim_ref_uid.empty() || volume.claim_ref_uid == claim.metadata.uid;
    if (is_its && can_hold(volume, claim) && may_bind(claim, volume)) return each->second;
  }
  return nullptr;
}

std::shared_ptr<const PersistentVolume> ImmediateClaims::best_for(const PersistentVolumeClaim& claim,
                                                                  const std::set<std::string>& taken) const {
  std::shared_ptr<const PersistentVolume> best;
  for (const auto& volume : context_.objects.volumes_of_class(claim.storage_class_name.value_or(""))) {
    if (!volume->claim_ref.empty() || taken.contains(volume->metadata.name)) continue;
    if (!is_free_for(*volume, claim)) continue;
    if (best != nullptr && rank(*best) < rank(*volume)) continue;
    if (may_bind(claim, *volume)) best = volume;
  }
  return best;
}

std::shared_ptr<const PersistentVolume> ImmediateClaims::volume_for(const PersistentVolumeClaim& claim,
                                                                    const VolumesByClaim& reserved,
                                                                    const std::set<std::string>& taken) const {
  auto volume = reserved_for(claim, reserved);
  return volume != nullptr ? volume : best_for(claim, taken);
}

bool ImmediateClaims::may_bind(const PersistentVolumeClaim& claim, const PersistentVolume& volume) const {
  return volumes_.may_bind({claim.metadata.key(), volume.metadata.name, volume.local_path});
}

ImmediateClaims::VolumesByClaim ImmediateClaims::reserved() const {
  VolumesByClaim reserved;
  for (const auto& [name, volume] : context_.objects.all<PersistentVolume>()) {
    if (!volume->claim_ref.empty() && volume->phase == "Available") reserved.emplace(volume->claim_ref, volume);
  }
  return reserved;
}

void ImmediateClaims::bind_on_trial(std::vector<PersistentVolumeClaim>& claims) const {
  if (claims.empty()) return;
  const VolumesByClaim by_claim = reserved();
  std::set<std::string> taken;
  for (PersistentVolumeClaim& claim : claims) {
    if (!is_immediate(claim)) continue;
    const auto volume = volume_for(claim, by_claim, taken);
    if (volume == nullptr) continue;
    claim.volume_name = volume->metadata.name;
    claim.phase = "Bound";
    taken.insert(claim.volume_name);
  }
}

void ImmediateClaims::bind_all() {
  const VolumesByClaim by_claim = reserved();
  for (const std::string& key : context_.objects.keys(Kind::persistent_volume_claim)) {
    auto claim = context_.objects.claim(key);
    if (!is_immediate(*claim)) continue;
    auto volume = volume_for(*claim, by_claim, {});
    if (volume == nullptr && volumes_.assign_default_class(claim)) {
      claim = context_.objects.claim(key);
      if (!is_immediate(*claim)) continue;
      volume = volume_for(*claim, by_claim, {});
    }
    if (volume == nullptr || !volumes_.bind({key, volume->metadata.name, volume->local_path})) continue;
    // The mirror tells a gateway that lost its store which data is whose.
    context_.publisher.mirror(Kind::persistent_volume, volume->metadata.name);
    context_.publisher.mirror(Kind::persistent_volume_claim, key);
    context_.log.write(Level::info, "claim bound", {{"claim", key}, {"volume", volume->metadata.name}});
  }
}

}  // namespace berth
