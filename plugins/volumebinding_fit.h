// Whether a node fits a pod's claims: what VolumeBinding knows of them in one attempt, or of all pods of a class, and
// its Filter (volumebinding/binder.go FindPodVolumes).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/volume.h"
#include "core/framework/cycle_state.h"
#include "core/framework/framework.h"
#include "plugins/volume_index.h"
#include "plugins/volumebinding_pools.h"

namespace berth {

// The volumes for the pod's unbound claims on one node.
struct PodVolumes {
  std::vector<BoundVolume> bind;       // free volumes
  std::vector<std::string> provision;  // claims to provision, "<namespace>/<name>"
};

struct VolumeBindingState final : StateEntry {
  using Claim = std::shared_ptr<const PersistentVolumeClaim>;
  using Volume = std::shared_ptr<const PersistentVolume>;
  // A claim to be bound when its pod is scheduled (WaitForFirstConsumer).
  struct DelayedClaim {
    Claim claim;
    std::shared_ptr<VolumeIndex> candidates;
    std::shared_ptr<const StorageClass> storage_class;
    Volume reserved;         // its claimRef names this claim; null: none
    std::uint64_t seen = 0;  // changes of `candidates` that changed() has seen
  };
  // A claim that is to be provisioned for a selected node.
  struct SelectedClaim {
    Claim claim;
    std::shared_ptr<const StorageClass> storage_class;
    std::string node;
  };

  std::vector<std::pair<Claim, Volume>> bound;  // null volume: it does not exist
  std::vector<SelectedClaim> selected;          // in the order of the pod's volumes
  std::vector<DelayedClaim> delayed;            // by ascending size
  std::map<std::string, PodVolumes> decisions;  // for `selected` and `delayed`, by node; written by Filter
  bool is_of_class = false;                     // then it is not, as they are made again for the pod itself
  PoolUse pools;                                // of the classes that devices provision
  std::optional<Millis> asked_at;               // first request to provisioners, by PreBind
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<VolumeBindingState>(*this); }
};

BoundVolume bound_volume(const PersistentVolumeClaim& claim, const PersistentVolume& volume);

inline constexpr const char* kNoMatch = "node(s) didn't find available persistent volumes to bind";
inline constexpr const char* kElsewhere = "node(s) didn't match PersistentVolume's node affinity";
inline constexpr const char* kNoSpace = "node(s) did not have enough free storage";
inline constexpr const char* kVolumeGone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

// Why the node does not fit the bound claims; null: it does.
const char* bound_fit(const VolumeBindingState& volumes, const Node& node);
// Why the node does not fit the unbound claims; null: it does, and `decision` has the volumes. Error: a class is gone.
Result<const char*> unbound_fit(const Lister& lister, const VolumeBindingState& volumes, const Node& node,
                                PodVolumes& decision);

// The same for many nodes by the columns of labels: sets reasons[row] to 0 where a node fits, to another number where
// it does not; nodes of one number do not fit for the same reasons. False, and `reasons` say nothing: it has to be
// asked about each, as where devices provision, or free volumes are on many nodes.
bool number_misfits(const Lister& lister, const VolumeBindingState& volumes, const Snapshot& snapshot, const Rows& rows,
                    std::uint8_t* reasons);

}  // namespace berth
