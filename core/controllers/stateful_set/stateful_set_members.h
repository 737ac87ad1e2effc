// What a StatefulSet does with each of its pods, apart from updates: bring them up and take them down, with their
// claims (pkg/controller/statefulset/stateful_set_control.go, processReplica and processCondemned).
#pragma once

#include <functional>
#include <vector>

#include "core/api/stateful_set.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/stateful_set/stateful_set_claims.h"
#include "core/controllers/stateful_set/stateful_set_pods.h"
#include "core/status.h"

namespace berth {

// The writes of one synchronisation.
class SetMemberActions {
 public:
  // All three must outlive the object.
  SetMemberActions(ClusterAccess& cluster, const StatefulSet& set, const StatefulSetRevisions& revisions)
      : cluster_(cluster), set_(set), revisions_(revisions), claims_(cluster, set) {}

  struct Step {
    Status status = {};
    bool stops = false;  // with OrderedReady: nothing else is done in this synchronisation
  };
  // Each replica from the lowest, then each condemned pod from the highest. `first_unavailable`: may be null.
  Step scale(const SetMembers& members, const ControlledPod* first_unavailable);

  struct Deletion {
    Status status;
    bool is_gone = false;  // it failed because there is no such pod
  };
  // Deletes the pod, with an event.
  Deletion remove(const SetMember& member);

 private:
  Step run_for_all(const std::vector<SetMember>& members, const std::function<Step(const SetMember&)>& run);
  Step process_replica(const SetMember& replica);
  Step process_condemned(const SetMember& condemned, const ControlledPod* first_unavailable);
  Status create(const SetMember& missing);
  Status keep_claims(const SetMember& replica);
  Step hand_over_claims(const SetMember& condemned);
  Status repair(const SetMember& replica);

  ClusterAccess& cluster_;
  const StatefulSet& set_;
  const StatefulSetRevisions& revisions_;
  StatefulSetClaims claims_;
};

}  // namespace berth
