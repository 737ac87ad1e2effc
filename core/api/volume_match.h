// Whether a volume can hold what a claim asks for (component-helpers storage/volume/pv_helpers.go FindMatchingVolume),
// as far as that does not depend on a node.
#pragma once

namespace berth {

struct PersistentVolume;
struct PersistentVolumeClaim;

// Size, mode, attributes, and not being deleted.
bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// Every access mode that the claim asks for is one of the volume's.
bool offers_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// It is free, and the claim's selector, access modes and the rest match. The class is not compared.
bool is_free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

}  // namespace berth
