// Events of a StatefulSet about what it did with its pods and claims (pkg/controller/statefulset/
// stateful_pod_control.go, recordPodEvent and recordClaimEvent).
#pragma once

#include <string>
#include <string_view>

#include "core/api/stateful_set.h"
#include "core/controllers/cluster_access.h"
#include "core/status.h"

namespace berth {

// `verb`: "Create", "Update" or "Delete". `status`: what became of it.
inline void record_pod_event(ClusterAccess& cluster, const StatefulSet& set, const std::string& verb,
                             const std::string& pod, const Status& status) {
  const std::string what = verb + " Pod " + pod + " in StatefulSet " + set.metadata.name;
  if (status.is_success()) {
    cluster.record(set, {WorkloadEvent::Type::normal, "Successful" + verb, what + " successful"});
  } else {
    cluster.record(set, {WorkloadEvent::Type::warning, "Failed" + verb, what + " failed error: " + status.message()});
  }
}

inline void record_claim_event(ClusterAccess& cluster, const StatefulSet& set, const std::string& claim,
                               const std::string& pod, const Status& status) {
  const std::string of_pod = "Pod " + pod + " in StatefulSet " + set.metadata.name;
  if (status.is_success()) {
    cluster.record(
        set, {WorkloadEvent::Type::normal, "SuccessfulCreate", "Create Claim " + claim + " " + of_pod + " success"});
  } else {
    cluster.record(set, {WorkloadEvent::Type::warning, "FailedCreate",
                         "Create Claim " + claim + " for " + of_pod + " failed error: " + status.message()});
  }
}

}  // namespace berth
