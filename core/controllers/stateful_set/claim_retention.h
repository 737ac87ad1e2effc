// Who is to own the claim of a StatefulSet's pod: the set, the pod or neither (pkg/controller/statefulset/
// stateful_set_utils.go, isClaimOwnerUpToDate and updateClaimOwnerRefForSetAndPod).
#pragma once

#include <vector>

#include "core/api/stateful_set.h"
#include "core/controllers/stateful_set/stateful_set_pods.h"

namespace berth {

// Whether some owner of the claim has the pod's name and another uid. One that is missing has no uid.
bool has_stale_owner(const ControlledObject& claim, const ControlledObject& owner, std::string_view api_version);
// Whether a policy asks for owners while something else controls the claim. Then it is left to that.
bool has_foreign_controller(const ControlledObject& claim, const StatefulSet& set, const ControlledPod& pod);
bool has_wanted_owners(const ControlledObject& claim, const StatefulSet& set, const SetMember& replica);
// The owners that the claim should have; those that are neither the set nor the pod stay.
std::vector<OwnerReference> wanted_owners(const ControlledObject& claim, const StatefulSet& set,
                                          const SetMember& replica);

}  // namespace berth
