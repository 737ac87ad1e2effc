#include "core/api/volume_match.h"

#include <algorithm>

#include "core/api/volume.h"

namespace berth {

bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return mismatch_of_reserved(volume, claim).empty();
}

std::string_view mismatch_of_reserved(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (volume.metadata.deleting) return "the volume is marked for deletion";
  if (volume.capacity < claim.request) return "requested PV is too small";
  if (volume.volume_attributes_class_name != claim.volume_attributes_class_name) {
    return "volumeAttributesClassName does not match";
  }
  if (volume.volume_mode != claim.volume_mode) return "incompatible volumeMode";
  return {};
}

std::string_view mismatch_of_named(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (volume.storage_class_name != claim.storage_class_name.value_or("")) return "storageClassName does not match";
  if (!offers_modes(volume, claim)) return "incompatible accessMode";
  return mismatch_of_reserved(volume, claim);
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
