#include "core/controllers/replica_set/replica_set_controller.h"

#include <algorithm>
#include <vector>

#include "core/controllers/ownership.h"
#include "core/controllers/replica_set/replica_set_rules.h"
#include "core/controllers/status_write.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

const ReplicaSet& as_replica_set(const ControlledObject& object) { return static_cast<const ReplicaSet&>(object); }

bool selects_pod(const ControlledObject& owner, const ControlledObject& pod) {
  const LabelSelector& selector = as_replica_set(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, pod.metadata.labels.get());
}

// The pods that any ReplicaSet with the same controller selects (getIndirectlyRelatedPods).
std::vector<ControlledPodPtr> related_pods(const ReplicaSet& set, const ClusterAccess& cluster) {
  std::vector<ControlledPodPtr> related;
  if (set.metadata.controller_uid.empty()) return related;
  std::vector<std::shared_ptr<const ReplicaSet>> siblings =
      list_as<ReplicaSet>(cluster, set.kind, set.metadata.namespace_);
  std::erase_if(siblings,
                [&](const auto& each) { return each->metadata.controller_uid != set.metadata.controller_uid; });
  const Labels* labels = nullptr;  // of the pod before: most share theirs
  bool is_related = false;
  for (const auto& pod : list_as<ControlledPod>(cluster, ControlledPod::kKind, set.metadata.namespace_)) {
    if (const Labels* own = &pod->metadata.labels.get(); own != labels) {
      labels = own;
      is_related = std::any_of(siblings.begin(), siblings.end(),
                               [&](const auto& sibling) { return matches(sibling->spec.selector, *own); });
    }
    if (is_related) related.push_back(pod);
  }
  return related;
}

// Those of the set, then those that it could adopt: of pods that are equal in all else, the first ones go.
std::vector<ControlledPodPtr> owned_and_orphans(const ReplicaSet& set, const ClusterAccess& cluster) {
  std::vector<ControlledPodPtr> pods = cluster.pods_of(set.metadata.namespace_, set.metadata.uid);
  const std::vector<ControlledPodPtr> orphans = cluster.pods_of(set.metadata.namespace_, "");
  pods.insert(pods.end(), orphans.begin(), orphans.end());
  return pods;
}

}  // namespace

void ReplicaSetController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == kind_) {
    queue.add(key_of(object));
  } else if (object.kind == ControlledPod::kKind) {
    wake_owners(kind_, change, cluster, queue, selects_pod);
  }
}

SyncResult ReplicaSetController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto set = find_as<ReplicaSet>(cluster, kind_, key);
  if (set == nullptr) return {};
  const LabelSelector& selector = set->spec.selector;
  ReplicaSetPods pods;
  Claim claim(cluster, *set, kind_ == kReplicationController ? "v1" : ReplicaSet::kApiVersion, selector);
  for (const ControlledPodPtr& pod : owned_and_orphans(*set, cluster)) {
    if (is_active(*pod)) {
      if (claim.take(*pod)) pods.active.push_back(pod);
    } else if (is_terminating(*pod) && pod->metadata.controller_uid == set->metadata.uid &&
               matches(selector, pod->metadata.labels.get())) {
      ++pods.terminating;
    }
  }
  if (!claim.status().is_success()) return {.status = claim.status()};

  Status managed;
  if (!set->metadata.deletion) {
    if (static_cast<std::int64_t>(pods.active.size()) > set->spec.replicas) pods.related = related_pods(*set, cluster);
    managed = manage_replicas(cluster, *set, pods, burst_);
  }
  const ReplicaSetStatus status = replica_set_status(*set, pods, managed, cluster.now());
  if (Status written = write_status(cluster, *set, set->status, status); !written.is_success())
    return {.status = written};
  if (!managed.is_success()) return {.status = managed};
  SyncResult result;
  if (status.ready_replicas != status.available_replicas) {
    result.wake_at = next_availability(pods.active, set->spec.min_ready_seconds, cluster.now());
  }
  return result;
}

}  // namespace berth
