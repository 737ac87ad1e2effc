// ImmediateClaims: binds claims that wait for no pod, those of a class with volumeBindingMode Immediate or of none, to
// the volume that fits them best (kube-controller-manager pkg/controller/volume/persistentvolume: pv_controller.go
// syncUnboundClaim, index.go findBestMatchForClaim). A volume or claim that names the other is VolumeBinder's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/placement/context.h"
#include "core/placement/volume_binder.h"

namespace berth {

struct PersistentVolume;
struct PersistentVolumeClaim;

class ImmediateClaims {
 public:
  // All outlive it.
  ImmediateClaims(const PlacementContext& context, VolumeBinder& volumes) : context_(context), volumes_(volumes) {}

  // Binds what can be bound now, and gives claims that ask for no class, and find no volume without one, the default
  // class (pv_controller.go assignDefaultStorageClass); the others wait for the next change of a volume, claim or
  // class. Not in adopt mode. Cost: claims, times the volumes of their class.
  void bind_all();
  // For a trial: what bind_all() would bind these to, as if they existed (Objects::suppose).
  void bind_on_trial(std::vector<PersistentVolumeClaim>& claims) const;

 private:
  // Free ones, by the claim that they name.
  using VolumesByClaim = std::multimap<std::string, std::shared_ptr<const PersistentVolume>>;

  bool is_immediate(const PersistentVolumeClaim& claim) const;
  bool may_bind(const PersistentVolumeClaim& claim, const PersistentVolume& volume) const;
  VolumesByClaim reserved() const;
  // Null: none fits. `taken`: by name, the volumes that are as good as another claim's.
  std::shared_ptr<const PersistentVolume> volume_for(const PersistentVolumeClaim& claim, const VolumesByClaim& reserved,
                                                     const std::set<std::string>& taken) const;
  std::shared_ptr<const PersistentVolume> reserved_for(const PersistentVolumeClaim& claim,
                                                       const VolumesByClaim& reserved) const;
  std::shared_ptr<const PersistentVolume> best_for(const PersistentVolumeClaim& claim,
                                                   const std::set<std::string>& taken) const;

  const PlacementContext& context_;
  VolumeBinder& volumes_;
};

}  // namespace berth
