// The revisions of a StatefulSet: the one that its pods have, and the one that they are to get (pkg/controller/
// statefulset/stateful_set_control.go).
#pragma once

#include <string>
#include <vector>

#include "core/api/controller_revision.h"
#include "core/api/stateful_set.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_pod.h"
#include "core/status.h"

namespace berth {

struct StatefulSetRevisions {
  RevisionPtr current;
  RevisionPtr update;
  std::int32_t collision_count = 0;
};

// The revisions of the set and those that it could adopt, oldest first. Adopts the latter (ListRevisions,
// AdoptOrphanRevisions).
Result<std::vector<RevisionPtr>> list_revisions(ClusterAccess& cluster, const StatefulSet& set);

// The revision of the template is the newest one, an equal older one with a new number, or a new one
// (getStatefulSetRevisions). `revisions`: oldest first.
Result<StatefulSetRevisions> stateful_set_revisions(ClusterAccess& cluster, const StatefulSet& set,
                                                    const std::vector<RevisionPtr>& revisions);

// Deletes the oldest of those that are neither current nor update nor of a pod, down to spec.revisionHistoryLimit
// (truncateHistory).
Status truncate_history(ClusterAccess& cluster, const StatefulSet& set, const std::vector<ControlledPodPtr>& pods,
                        const std::vector<RevisionPtr>& revisions, const StatefulSetRevisions& in_use);

}  // namespace berth
