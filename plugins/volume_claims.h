// Which claims a pod uses, and what a claim says of itself: shared by the plugins that look at volumes
// (component-helpers storage/volume/pv_helpers.go, storage/ephemeral/ephemeral.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/objects.h"

namespace berth {

inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

// One volume of a pod that is a claim.
struct ClaimUse {
  std::string name;        // of the claim, in the pod's namespace
  bool ephemeral = false;  // made for this pod alone, and named after pod and volume
};

// In the order of the pod's volumes; a claim that it mounts twice comes twice.
std::vector<ClaimUse> claims_used(const Pod& pod);
std::string claim_key(const Pod& pod, const ClaimUse& use);
// True when the claim lives in the pod's namespace and the pod uses it, ephemeral ones included.
bool uses_claim(const Pod& pod, const PersistentVolumeClaim& claim);
// The same for claims that the pod names itself.
bool names_claim(const Pod& pod, const PersistentVolumeClaim& claim);
// What to say when an ephemeral volume's claim was not made for this pod; none: it was.
std::optional<std::string> not_owned(const Pod& pod, const PersistentVolumeClaim& claim);

// As API errors word it: persistentvolumeclaim "c" not found.
std::string claim_not_found(std::string_view name);

// The claim's class; empty: none.
std::string class_of(const PersistentVolumeClaim& claim);
// Names its volume, and the binding is complete.
bool is_bound(const PersistentVolumeClaim& claim);
// The node whose provisioner is to fill the claim; null: none was chosen.
const std::string* selected_node(const PersistentVolumeClaim& claim);

}  // namespace berth
