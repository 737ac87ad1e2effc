#include "core/controllers/deployment/deployment_rollout.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/controllers/deployment/deployment_new_set.h"
#include "core/controllers/deployment/deployment_scale.h"
#include "core/controllers/deployment/deployment_status.h"

namespace berth {
namespace {

enum class Step { unchanged, changed, failed };

Step resize_step(DeploymentWork& work, const ReplicaSet& set, std::int32_t replicas) {
  if (set.spec.replicas == replicas) return Step::unchanged;
  return resize_set(work, set, replicas) ? Step::changed : Step::failed;
}

Step grow_new_set(DeploymentWork& work) {
  const ReplicaSet& set = *work.sets.newest;
  const std::int32_t wanted = work.deployment.spec.replicas;
  if (set.spec.replicas >= wanted) return resize_step(work, set, wanted);
  const std::int32_t allowed = new_set_replicas(work.deployment, work.sets.all(), set.spec.replicas);
  return resize_step(work, set, within_limit(work, set.spec.replicas, allowed));
}

// Takes at most `most` pods away from the old sets, in order; of each at most what `can_lose` says. `old` gets the new
// sizes. Pods taken; none: a write failed, or can_lose() was below zero. Then a set has more available pods than it is
// to have, as it has not followed its last change yet, and upstream decides nothing by such numbers.
template <class CanLose>
std::optional<std::int32_t> shrink(DeploymentWork& work, std::vector<ReplicaSetPtr>& old, std::int32_t most,
                                   const CanLose& can_lose) {
  std::int32_t taken = 0;
  for (ReplicaSetPtr& set : old) {
    if (taken >= most) break;
    if (set->spec.replicas == 0) continue;
    const std::int32_t count = std::min(most - taken, can_lose(*set));
    if (count < 0) return std::nullopt;
    if (count == 0) continue;
    if (!resize_set(work, *set, set->spec.replicas - count)) return std::nullopt;
    auto smaller = std::make_shared<ReplicaSet>(*set);
    smaller->spec.replicas -= count;
    set = std::move(smaller);
    taken += count;
  }
  return taken;
}

// How many pods the old sets have besides those that the new one may not replace yet.
std::int32_t replaceable(const DeploymentWork& work) {
  const std::int32_t wanted = work.deployment.spec.replicas;
  const std::int32_t kept = wanted - within_limit(work, work.sets.newest->spec.replicas, wanted);
  return wanted_replicas(work.sets.old) - kept;
}

Step shrink_old_sets(DeploymentWork& work) {
  std::vector<ReplicaSetPtr> old = active_sets(work.sets.old);
  if (old.empty()) return Step::unchanged;
  const ReplicaSet& newest = *work.sets.newest;
  const std::int32_t min_available = work.deployment.spec.replicas - max_unavailable(work.deployment);
  const std::int32_t new_unavailable = newest.spec.replicas - newest.status.available_replicas;
  const std::int32_t replaced = replaceable(work);
  const std::int32_t most = std::min(wanted_replicas(work.sets.all()) - min_available - new_unavailable, replaced);
  if (most <= 0) return Step::unchanged;
  const std::optional<std::int32_t> unhealthy =
      shrink(work, old, most, [](const ReplicaSet& set) { return set.spec.replicas - set.status.available_replicas; });
  if (!unhealthy) return work.result.status.is_success() ? Step::unchanged : Step::failed;
  const std::int32_t spare = available_replicas(old) + newest.status.available_replicas - min_available;
  const std::optional<std::int32_t> healthy = shrink(work, old, std::min(spare, replaced - *unhealthy),
                                                     [](const ReplicaSet& set) { return set.spec.replicas; });
  if (!healthy) return Step::failed;
  return *unhealthy + *healthy > 0 ? Step::changed : Step::unchanged;
}

Step empty_old_sets(DeploymentWork& work) {
  Step step = Step::unchanged;
  for (const ReplicaSetPtr& set : active_sets(work.sets.old)) {
    if (!resize_set(work, *set, 0)) return Step::failed;
    step = Step::changed;
  }
  return step;
}

// Terminating pods count, finished ones do not.
bool has_old_pods(const DeploymentWork& work) {
  if (actual_replicas(work.sets.old) > 0) return true;
  return std::any_of(work.sets.old.begin(), work.sets.old.end(), [&work](const ReplicaSetPtr& set) {
    const std::vector<ControlledPodPtr> pods = work.cluster.pods_of(set->metadata.namespace_, set->metadata.uid);
    return std::any_of(pods.begin(), pods.end(), [&](const ControlledPodPtr& pod) {
      return !is_finished(*pod) && matches(work.deployment.spec.selector, pod->metadata.labels.get());
    });
  });
}

bool delete_surplus_when_complete(DeploymentWork& work) {
  return !is_complete(work.deployment, work.deployment.status) || delete_surplus_sets(work);
}

}  // namespace

bool roll_one_step(DeploymentWork& work) {
  if (!create_new_set(work)) return false;
  Step step = grow_new_set(work);
  if (step == Step::unchanged) step = shrink_old_sets(work);
  if (step == Step::unchanged) return delete_surplus_when_complete(work);
  return step == Step::changed;
}

bool recreate_one_step(DeploymentWork& work) {
  const Step step = empty_old_sets(work);
  if (step != Step::unchanged) return step == Step::changed;
  if (has_old_pods(work)) return true;
  if (!create_new_set(work)) return false;
  if (resize_step(work, *work.sets.newest, work.deployment.spec.replicas) == Step::failed) return false;
  return delete_surplus_when_complete(work);
}

}  // namespace berth
