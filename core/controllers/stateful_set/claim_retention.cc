#include "core/controllers/stateful_set/claim_retention.h"

#include <algorithm>

#include "core/controllers/ownership.h"

namespace berth {
namespace {

constexpr std::string_view kPodApiVersion = "v1";

bool names(const OwnerReference& reference, const ControlledObject& owner, std::string_view api_version) {
  return reference.api_version == api_version && reference.kind == owner.kind && reference.name == owner.metadata.name;
}

bool is_owned_by(const ControlledObject& claim, const ControlledObject& owner) {
  const std::vector<OwnerReference>& owners = claim.metadata.owner_references.get();
  return std::any_of(owners.begin(), owners.end(),
                     [&](const OwnerReference& each) { return each.uid == owner.metadata.uid; });
}

// An owner that does not control it.
bool has_mere_owner(const ControlledObject& claim, const StatefulSet& set, const ControlledPod& pod) {
  const std::vector<OwnerReference>& owners = claim.metadata.owner_references.get();
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& each) {
    return !each.controller && (each.uid == set.metadata.uid || each.uid == pod.metadata.uid);
  });
}

struct WantedOwners {
  bool set = false;
  bool pod = false;
};
WantedOwners owners_by_policy(const StatefulSet& set, const SetMember& replica) {
  const ClaimRetention& retention = set.spec.claim_retention;
  WantedOwners wanted;
  wanted.pod = retention.deletes_when_scaled && !is_in_range(set, replica.ordinal);
  wanted.set = retention.deletes_when_deleted && !wanted.pod;
  return wanted;
}

}  // namespace

bool has_stale_owner(const ControlledObject& claim, const ControlledObject& owner, std::string_view api_version) {
  for (const OwnerReference& each : claim.metadata.owner_references.get()) {
    if (names(each, owner, api_version)) return each.uid != owner.metadata.uid;
  }
  return false;
}

bool has_foreign_controller(const ControlledObject& claim, const StatefulSet& set, const ControlledPod& pod) {
  const ClaimRetention& retention = set.spec.claim_retention;
  if (!retention.deletes_when_deleted && !retention.deletes_when_scaled) return false;
  for (const OwnerReference& each : claim.metadata.owner_references.get()) {
    if (names(each, set, StatefulSet::kApiVersion)) {
      if (each.uid != set.metadata.uid) return true;
    } else if (names(each, pod, kPodApiVersion)) {
      if (each.uid != pod.metadata.uid) return true;
    } else if (each.controller) {
      return true;
    }
  }
  return false;
}

bool has_wanted_owners(const ControlledObject& claim, const StatefulSet& set, const SetMember& replica) {
  const ControlledPod& pod = *replica.pod;
  if (has_stale_owner(claim, set, StatefulSet::kApiVersion) || has_stale_owner(claim, pod, kPodApiVersion)) {
    return false;
  }
  const bool is_sets = is_owned_by(claim, set);
  const bool is_pods = is_owned_by(claim, pod);
  if (has_foreign_controller(claim, set, pod)) return !is_sets && !is_pods;
  if (has_mere_owner(claim, set, pod)) return false;
  const WantedOwners wanted = owners_by_policy(set, replica);
  return is_sets == wanted.set && is_pods == wanted.pod;
}

std::vector<OwnerReference> wanted_owners(const ControlledObject& claim, const StatefulSet& set,
                                          const SetMember& replica) {
  const ControlledPod& pod = *replica.pod;
  const bool is_foreign = has_foreign_controller(claim, set, pod);
  std::vector<OwnerReference> owners = claim.metadata.owner_references.get();
  std::erase_if(owners, [&](const OwnerReference& each) {
    return names(each, set, StatefulSet::kApiVersion) || names(each, pod, kPodApiVersion);
  });
  if (is_foreign) return owners;
  const WantedOwners wanted = owners_by_policy(set, replica);
  if (wanted.pod) owners.push_back(controller_reference(pod, kPodApiVersion));
  if (wanted.set) owners.push_back(controller_reference(set, StatefulSet::kApiVersion));
  return owners;
}

}  // namespace berth
