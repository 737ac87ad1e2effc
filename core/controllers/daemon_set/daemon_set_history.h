// The revisions of a DaemonSet (pkg/controller/daemon/update.go).
#pragma once

#include <vector>

#include "core/api/controller_revision.h"
#include "core/api/daemon_set.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_pod.h"
#include "core/status.h"

namespace berth {

struct DaemonSetHistory {
  RevisionPtr current;
  std::vector<RevisionPtr> old;
};

// The revision of the template has the highest number; it is created if there is none. `pods`: those of the set. A name
// that another revision has is an error, and the next attempt has another hash: status.collisionCount is written
// (constructHistory).
Result<DaemonSetHistory> daemon_set_history(ClusterAccess& cluster, const DaemonSet& set,
                                            const std::vector<ControlledPodPtr>& pods);

// Deletes the oldest of the old ones that no pod has, down to spec.revisionHistoryLimit (cleanupHistory).
Status clean_up_history(ClusterAccess& cluster, const DaemonSet& set, const std::vector<ControlledPodPtr>& pods,
                        std::vector<RevisionPtr> old);

}  // namespace berth
