// The claims of a StatefulSet's pods during one synchronisation: made before the pod, kept or deleted with it or the
// set by owner references (pkg/controller/statefulset/stateful_pod_control.go, stateful_set_utils.go).
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/api/stateful_set.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/stateful_set/stateful_set_pods.h"
#include "core/status.h"

namespace berth {

inline constexpr std::string_view kPersistentVolumeClaim = "PersistentVolumeClaim";

// A claim is seen as it was when the synchronisation first asked for it, as upstream does by its cache.
class StatefulSetClaims {
 public:
  // Both must outlive the object.
  StatefulSetClaims(ClusterAccess& cluster, const StatefulSet& set) : cluster_(cluster), set_(set) {}

  // Creates those that are missing, with events. An error names those that could not be created or are being deleted
  // (createPersistentVolumeClaims).
  Status create_missing(const SetMember& replica);
  // Whether the owners of the pod's claims are those that spec.persistentVolumeClaimRetentionPolicy asks for
  // (ClaimsMatchRetentionPolicy).
  bool match_retention(const SetMember& replica);
  // Writes these owners. A second write to one claim in a synchronisation is a conflict, as upstream finds
  // (UpdatePodClaimForRetentionPolicy).
  enum class Written { done, conflict, failed };
  struct WriteOutcome {
    Written written = Written::done;
    Status status = {};
  };
  WriteOutcome apply_retention(const SetMember& replica);
  // Whether a claim belongs to a former pod of that name, and goes with it: then the next one must wait
  // (PodClaimIsStale).
  bool is_stale(const SetMember& replica);

 private:
  ObjectPtr find(const std::string& name);
  Status create(const ClaimTemplate& claim, const SetMember& replica);

  ClusterAccess& cluster_;
  const StatefulSet& set_;
  std::map<std::string, ObjectPtr> seen_;
  std::set<std::string> written_;
};

}  // namespace berth
