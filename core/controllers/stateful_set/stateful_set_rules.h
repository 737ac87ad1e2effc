// What a StatefulSet does with its pods (pkg/controller/statefulset/stateful_set_control.go).
#pragma once

#include <vector>

#include "core/api/stateful_set.h"
#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/stateful_set/stateful_set_pods.h"
#include "core/controllers/stateful_set/stateful_set_revisions.h"
#include "core/status.h"

namespace berth {

struct StatefulSetOptions {
  bool max_unavailable =
      false;  // the feature gate MaxUnavailableStatefulSet: updateStrategy.rollingUpdate.maxUnavailable
};

struct StatefulSetOutcome {
  StatefulSetStatus status;  // by the pods as they were before
  Status result;             // the first failure
};

// Creates what is missing, repairs identities, deletes what has finished, what is too much and what is of another
// revision: in order of the ordinals, one at a time, or with Parallel all at once; an update only after that. `pods`:
// those that belong to the set (updateStatefulSet).
StatefulSetOutcome update_stateful_set(ClusterAccess& cluster, const StatefulSet& set,
                                       const StatefulSetRevisions& revisions, const std::vector<ControlledPodPtr>& pods,
                                       const StatefulSetOptions& options);

// An update that has reached every pod makes its revision the current one (completeRollingUpdate).
void complete_rolling_update(const StatefulSet& set, StatefulSetStatus& status);

}  // namespace berth
