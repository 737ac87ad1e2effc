// VolumeBindings: claims and volumes as the binding of a pod changes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/objects/objects.h"

namespace berth {

class VolumeBindings {
 public:
  explicit VolumeBindings(Objects& objects) : objects_(objects) {}

  // Makes the bound volumes of a pod Bound (claimRef, volumeName, phases). Staged with the transaction to phase bind.
  // While one half is not known yet, the other is kept for it.
  void bind_volumes(const std::vector<BoundVolume>& bound_volumes);
  // The volume names the claim, and nothing more; both are known, and the volume names none.
  void keep_volume(const BoundVolume& bound_volume) {
    bind_volume(*objects_.volume(bound_volume.volume), bound_volume.claim, nullptr);
  }
  // Both halves are there, and bound to each other.
  bool is_bound(const BoundVolume& bound_volume) const;
  // Bindings that arrived in halves, of which one is to be completed as PersistentVolumes' controller does: a claim
  // that names a free volume, or a volume that names a free claim. Path left out.
  std::vector<BoundVolume> half_bindings(Kind kind, const std::string& key) const;
  // Why a half may not be completed, as upstream's event says; empty: it may. What is Bound already stays so, whatever
  // the sizes: it has the claim's data.
  std::string mismatch_of(const BoundVolume& half) const;
  // Writes into the claim for which node a provisioner is to fill it. False: it is gone, or says so already.
  bool select_node(const std::string& claim, const std::string& node);
  // Takes that back, so that another node can be chosen. False: the claim is bound, or does not name the node.
  bool deselect_node(const std::string& claim, const std::string& node);

 private:
  void bind_volume(PersistentVolume volume, const std::string& key, const PersistentVolumeClaim* claim);
  void bind_claim(PersistentVolumeClaim claim, const std::string& volume);
  bool is_half(const BoundVolume& bound_volume) const;

  Objects& objects_;
};

}  // namespace berth
