// The eviction subresource of pods: whether a PodDisruptionBudget lets a pod go (pkg/registry/core/pod/storage/
// eviction.go).
#pragma once

#include <string>
#include <vector>

#include "core/controllers/cluster_access.h"

namespace berth {

struct EvictionAnswer {
  int code = 201;                   // as of HTTP; 201: the pod is being deleted
  std::string message;              // of an error
  std::vector<std::string> causes;  // of 429: what the budget says
};

// Deletes the pod if its budget allows it, which then has one disruption less to allow. A pod that is pending, finished
// or being deleted goes without asking a budget.
EvictionAnswer evict(ClusterAccess& cluster, const ObjectKey& pod);

}  // namespace berth
