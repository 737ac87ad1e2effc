// The annotations by which a Deployment numbers its ReplicaSets and remembers how large it was (pkg/controller/
// deployment/util/deployment_util.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/api/deployment.h"
#include "core/controllers/deployment/deployment_numbers.h"

namespace berth {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kRollbackTo = "deprecated.deployment.rollback.to";

// None: absent, or no integer of 32 bits.
std::optional<std::int32_t> number_annotation(const ReplicaSet& set, std::string_view key);
// The revision; 0: it has none; none: it is no number.
std::optional<std::int64_t> revision_of(const ReplicaSet& set);
// The highest revision of them, and the second highest; 0: there is none.
std::int64_t highest_revision(const std::vector<ReplicaSetPtr>& sets);
std::int64_t last_but_one_revision(const std::vector<ReplicaSetPtr>& sets);
// The revision that the Deployment is to be rolled back to, 0 for the last but one; none: it is not to be.
std::optional<std::int64_t> rollback_revision(const Deployment& deployment);

// The new ReplicaSet's annotations: what it had, those of the Deployment apart from the ones above, and the revision,
// unless it has a higher one (SetNewReplicaSetAnnotations).
Labels new_set_annotations(const Deployment& deployment, const Labels& had, std::int64_t revision);
// desired-replicas and max-replicas for the Deployment's present size.
void set_size_annotations(const Deployment& deployment, Labels& annotations);
// The Deployment's annotations after a rollback to this set: those that are not copied to ReplicaSets, and the set's.
Labels rolled_back_annotations(const Deployment& deployment, const ReplicaSet& set);

}  // namespace berth
