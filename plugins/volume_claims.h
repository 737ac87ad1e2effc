// The claims that a pod uses, and properties of claims: shared by the volume plugins (component-helpers
// storage/volume/pv_helpers.go, storage/ephemeral/ephemeral.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct EventObjects;
enum class Hint;
struct PersistentVolumeClaim;
struct Pod;

inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

// One volume of a pod that is a claim.
struct ClaimUse {
  std::string name;        // of the claim, in the pod's namespace
  bool ephemeral = false;  // created for this pod, and named after pod and volume
};

// In the order of the pod's volumes; a claim that is mounted twice is listed twice.
std::vector<ClaimUse> claims_used(const Pod& pod);
std::string claim_key(const Pod& pod, const ClaimUse& use);
// True if the claim is in the pod's namespace and the pod uses it, including ephemeral volumes.
bool uses_claim(const Pod& pod, const PersistentVolumeClaim& claim);
// The same without ephemeral volumes.
bool names_claim(const Pod& pod, const PersistentVolumeClaim& claim);
// The hint for an event of a claim: queue if the pod uses it.
Hint after_used_claim(const Pod& pod, const EventObjects& objects);
// The same without ephemeral volumes.
Hint after_named_claim(const Pod& pod, const EventObjects& objects);
// The error if an ephemeral volume's claim was not created for this pod; nullopt if it was.
std::optional<std::string> not_owned(const Pod& pod, const PersistentVolumeClaim& claim);

// Worded as API errors: persistentvolumeclaim "c" not found.
std::string claim_not_found(std::string_view name);

// The claim's class; empty: none.
std::string class_of(const PersistentVolumeClaim& claim);
// The claim names its volume, and the binding is complete.
bool is_bound(const PersistentVolumeClaim& claim);
// The node for which the claim is to be provisioned; null: none selected.
const std::string* selected_node(const PersistentVolumeClaim& claim);

}  // namespace berth
