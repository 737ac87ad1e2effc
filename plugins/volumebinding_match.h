// Rules for matching volumes and claims (component-helpers storage/volume/pv_helpers.go FindMatchingVolume).
#pragma once

namespace berth {

struct Node;
struct NodeSelectorTerm;
struct PersistentVolume;
struct PersistentVolumeClaim;

// Whether the volume's nodeAffinity matches the node. Only labels count: matchFields match every node
// (component-helpers storage/volume CheckNodeAffinity, scheduling/corev1/nodeaffinity).
bool reaches(const PersistentVolume& volume, const Node& node);
// False for a term of it that matches no node, whatever labels that has.
bool may_match(const NodeSelectorTerm& term);

// True if a free volume can be bound to the claim on the node.
bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node& node);

}  // namespace berth
