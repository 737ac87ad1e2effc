// The pods of a StatefulSet: their identity, and which ones it wants
// (pkg/controller/statefulset/stateful_set_utils.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/stateful_set.h"
#include "core/clock.h"
#include "core/controllers/controlled_pod.h"
#include "core/controllers/stateful_set/stateful_set_revisions.h"
#include "core/json/json.h"

namespace berth {

// The number at the end of "<set>-<number>"; -1 if it is too large. None: not a name of the set's pods.
std::optional<std::int32_t> ordinal_of(const StatefulSet& set, std::string_view pod_name);
std::string member_name(const StatefulSet& set, std::int32_t ordinal);
// From spec.ordinals.start, as many as spec.replicas.
bool is_in_range(const StatefulSet& set, std::int32_t ordinal);
// "<template>-<set>-<ordinal>"
std::string claim_name(const StatefulSet& set, const ClaimTemplate& claim, std::int32_t ordinal);

// One pod of the set, or one that is missing.
struct SetMember {
  std::int32_t ordinal = 0;
  // One that is missing has its name, the labels of its identity and its revision only.
  ControlledPodPtr pod;
  bool is_created = true;
};
struct SetMembers {
  std::vector<SetMember> replicas;   // those in range, by ordinal; there is one for each
  std::vector<SetMember> condemned;  // those out of range, highest ordinal first
};
// `pods`: those that belong to the set.
SetMembers set_members(const StatefulSet& set, const StatefulSetRevisions& revisions,
                       const std::vector<ControlledPodPtr>& pods);

// The manifest of a missing pod, of its revision (newVersionedStatefulSetPod).
Json member_manifest(const StatefulSet& set, const StatefulSetRevisions& revisions, const SetMember& missing);

bool is_running_and_ready(const ControlledPod& pod);
// Not running and available, or being deleted.
bool is_unavailable(const StatefulSet& set, const ControlledPod& pod, Millis now);

// The labels that give a pod its identity.
Labels identity_labels(const StatefulSet& set, std::int32_t ordinal);
// Whether the pod knows its name. Its index alone may be missing.
bool has_identity(const ControlledPod& pod);
// Whether the pod's volumes of the claim templates' names are its claims.
bool has_claims(const StatefulSet& set, const SetMember& replica);

}  // namespace berth
