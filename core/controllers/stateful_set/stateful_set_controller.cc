// The synchronisation of a StatefulSet (pkg/controller/statefulset/stateful_set.go).
#include "core/controllers/stateful_set/stateful_set_controller.h"

#include <utility>
#include <vector>

#include "core/controllers/ownership.h"
#include "core/controllers/status_write.h"
#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

bool selects_member(const ControlledObject& owner, const ControlledObject& pod) {
  const LabelSelector& selector = static_cast<const StatefulSet&>(owner).spec.selector;
  return !selector.requirements.empty() && matches(selector, pod.metadata.labels.get());
}

// Those with the name of a member only.
Result<std::vector<ControlledPodPtr>> claim_pods(ClusterAccess& cluster, const StatefulSet& set) {
  Claim claim(cluster, set, StatefulSet::kApiVersion, set.spec.selector);
  std::vector<ControlledPodPtr> pods;
  for (const std::string_view controller : {std::string_view(set.metadata.uid), std::string_view()}) {
    for (const ControlledPodPtr& pod : cluster.pods_of(set.metadata.namespace_, controller)) {
      if (claim.take(*pod, ordinal_of(set, pod->metadata.name).has_value())) pods.push_back(pod);
    }
  }
  if (!claim.status().is_success()) return claim.status();
  return pods;
}

SyncResult sync_pods(ClusterAccess& cluster, const StatefulSet& set, const std::vector<ControlledPodPtr>& pods,
                     const std::vector<RevisionPtr>& known, const StatefulSetOptions& options) {
  const Result<StatefulSetRevisions> revisions = stateful_set_revisions(cluster, set, known);
  if (!revisions) return {.status = revisions.error()};
  StatefulSetOutcome outcome = update_stateful_set(cluster, set, *revisions, pods, options);
  complete_rolling_update(set, outcome.status);
  const Status written = write_status(cluster, set, set.status, outcome.status);
  const Status truncated = truncate_history(cluster, set, pods, known, *revisions);
  SyncResult result{.status = outcome.result};
  if (result.status.is_success()) result.status = written;
  if (result.status.is_success()) result.status = truncated;
  if (outcome.status.available_replicas != outcome.status.ready_replicas) {
    result.wake_at = next_availability(pods, set.spec.min_ready_seconds, cluster.now());
  }
  return result;
}

}  // namespace

void StatefulSetController::observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) {
  const ControlledObject& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind == StatefulSet::kKind) {
    queue.add(key_of(object));
  } else if (object.kind == ControlledPod::kKind) {
    wake_owners(StatefulSet::kKind, change, cluster, queue, selects_member);
  }
}

SyncResult StatefulSetController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto set = find_as<StatefulSet>(cluster, StatefulSet::kKind, key);
  if (set == nullptr) return {};
  const Result<std::vector<RevisionPtr>> revisions = list_revisions(cluster, *set);
  if (!revisions) return {.status = revisions.error()};
  const Result<std::vector<ControlledPodPtr>> pods = claim_pods(cluster, *set);
  if (!pods) return {.status = pods.error()};
  return sync_pods(cluster, *set, *pods, *revisions, options_);
}

}  // namespace berth
