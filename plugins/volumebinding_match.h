// Which volume a claim gets on a node: the rules, apart from the plugin
// (component-helpers storage/volume/pv_helpers.go FindMatchingVolume).
#pragma once

#include "core/api/objects.h"

namespace berth {

// By the volume's nodeAffinity. Labels alone decide: matchFields hold everywhere (component-helpers storage/volume
// CheckNodeAffinity, scheduling/corev1/nodeaffinity).
bool reaches(const PersistentVolume& volume, const Node& node);

// What holds on every node: size, mode, attributes, and that it is not going away.
bool can_hold(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// True when a volume that nobody has may become the claim's on the node.
bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node& node);

}  // namespace berth
