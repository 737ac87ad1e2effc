// EphemeralClaims: the claims of pods' generic ephemeral volumes (spec.volumes[].ephemeral), which live as long as the
// pod: "<pod>-<volume>", made from the volumeClaimTemplate, owned by the pod, deleted with it
// (kube-controller-manager pkg/controller/volume/ephemeral/controller.go; the delete is the garbage collector's there).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/api/volume.h"
#include "core/placement/context.h"
#include "core/placement/object_admission.h"
#include "core/placement/volume_binder.h"

namespace berth {

struct Pod;

// The claims that are made of the pod's templates. An error says why that cannot be, and names the field.
Result<std::vector<PersistentVolumeClaim>> claims_of_templates(const Pod& pod);

class EphemeralClaims {
 public:
  // All outlive it.
  EphemeralClaims(const PlacementContext& context, ObjectAdmission& admission, VolumeBinder& volumes)
      : context_(context), admission_(admission), volumes_(volumes) {}

  // The pod was made: so are its claims, in the same transaction; in adopt mode later, since they may still come back.
  // A claim of that name that is not the pod's stays as it is: VolumeBinding rejects the pod with upstream's text.
  void make(const Pod& pod);
  // The pod is gone: its claims are deleted, once nothing uses them.
  void remove(const Pod& pod);
  // Likewise, of pods whose claims could not be made yet: for want of space, or because another claim has the name.
  void make_missing();

 private:
  // False: not yet.
  bool make_all(const Pod& pod);
  void look_at_all();

  const PlacementContext& context_;
  ObjectAdmission& admission_;
  VolumeBinder& volumes_;
  bool looked_ = false;            // at all pods and claims, since the start or the last adopt mode
  std::set<std::string> missing_;  // pods, by key
};

}  // namespace berth
