#include "core/api/volume_match.h"

#include <algorithm>

#include "core/api/volume.h"

namespace berth {

bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.capacity >= claim.request && volume.volume_mode == claim.volume_mode &&
         volume.volume_attributes_class_name == claim.volume_attributes_class_name && !volume.metadata.deleting;
}

bool offers_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&volume](const std::string& mode) {
    return std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) != volume.access_modes.end();
  });
}

bool is_free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (!can_hold(volume, claim) || volume.phase != "Available") return false;
  if (claim.selector && !matches(*claim.selector, volume.metadata.labels)) return false;
  return offers_modes(volume, claim);
}

}  // namespace berth
