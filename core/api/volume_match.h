// Whether a volume can hold what a claim asks for (component-helpers storage/volume/pv_helpers.go FindMatchingVolume),
// as far as that does not depend on a node.
#pragma once

#include <string_view>

namespace berth {

struct PersistentVolume;
struct PersistentVolumeClaim;

// Size, mode, attributes, and not being deleted.
bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// Why the volume may not be bound to a claim that names it, in upstream's words (pv_controller.go
// checkVolumeSatisfyClaim), and to one that it names itself, where FindMatchingVolume compares less; empty: it may.
std::string_view mismatch_of_named(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
std::string_view mismatch_of_reserved(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// Every access mode that the claim asks for is one of the volume's.
bool offers_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// It is free, and the claim's selector, access modes and the rest match. The class is not compared.
bool is_free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

}  // namespace berth
