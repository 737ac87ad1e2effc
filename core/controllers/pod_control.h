// Pods that a controller makes from a template and deletes, with the events of its owner (pkg/controller/
// controller_utils.go, RealPodControl).
#pragma once

#include <string>
#include <string_view>

#include "core/api/replica_set.h"
#include "core/controllers/cluster_access.h"
#include "core/status.h"

namespace berth {

// The pod that `owner` makes: labels, annotations, finalizers and spec of the template, generateName "<owner>-".
Json pod_from_template(const PodTemplate& pod_template, const ControlledObject& owner, std::string_view api_version);

// Creates one pod, or says why not; an event tells either.
Status create_pod(ClusterAccess& cluster, const ControlledObject& owner, Json pod);
// Deletes the pod with its own grace period. One that is gone already is an error without an event.
Status delete_pod(ClusterAccess& cluster, const ControlledObject& owner, const ControlledPod& pod);

// Calls create() `count` times in batches of 1, 2, 4 ...: all of a batch are tried, and after one with an error there
// is no further batch. The first error; success when all were created (slowStartBatch).
template <class Create>
Status slow_start(int count, Create&& create) {
  Status first;
  int batch = 1;
  while (count > 0 && first.is_success()) {
    batch = batch < count ? batch : count;
    for (int i = 0; i < batch; ++i) {
      Status status = create();
      if (first.is_success()) first = std::move(status);
    }
    count -= batch;
    batch *= 2;
  }
  return first;
}

// Creations and deletions in one synchronisation at most (BurstReplicas).
inline constexpr int kBurstReplicas = 500;

}  // namespace berth
