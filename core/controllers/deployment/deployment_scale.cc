#include "core/controllers/deployment/deployment_scale.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/deployment/deployment_new_set.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

// The one that is active, or, when none is, the new one or else the youngest; null: several are active, or there is
// none at all.
ReplicaSetPtr only_active_or_latest(const ReplicaSets& sets) {
  const std::vector<ReplicaSetPtr> active = active_sets(sets.all());
  if (active.size() > 1) return nullptr;
  if (active.size() == 1) return active.front();
  if (sets.newest != nullptr) return sets.newest;
  return sets.old.empty() ? nullptr : sets.old.back();
}

bool is_saturated(const Deployment& deployment, const ReplicaSetPtr& set) {
  const std::int32_t wanted = deployment.spec.replicas;
  return set != nullptr && set->spec.replicas == wanted && number_annotation(*set, kDesiredReplicas) == wanted &&
         set->status.available_replicas == wanted;
}

bool is_empty(const ReplicaSet& set) {
  return set.status.replicas == 0 && set.spec.replicas == 0 &&
         set.metadata.generation <= set.status.observed_generation;
}

}  // namespace

bool is_scaling_event(const DeploymentWork& work) {
  for (const ReplicaSetPtr& set : active_sets(work.sets.all())) {
    const std::optional<std::int32_t> desired = number_annotation(*set, kDesiredReplicas);
    if (desired && *desired != work.deployment.spec.replicas) return true;
  }
  return false;
}

bool scale_sets(DeploymentWork& work) {
  const std::int32_t wanted = work.deployment.spec.replicas;
  const auto resize = [&work](const ReplicaSetPtr& set, std::int32_t replicas) {
    return set->spec.replicas == replicas || resize_set(work, *set, replicas);
  };
  if (const ReplicaSetPtr only = only_active_or_latest(work.sets)) {
    return resize(only, only == work.sets.newest ? within_limit(work, only->spec.replicas, wanted) : wanted);
  }
  if (is_saturated(work.deployment, work.sets.newest)) {
    const std::vector<ReplicaSetPtr> old = active_sets(work.sets.old);
    return std::all_of(old.begin(), old.end(), [&](const ReplicaSetPtr& set) { return resize(set, 0); });
  }
  if (work.deployment.spec.recreate) return true;
  const std::vector<Resize> sizes = proportional_sizes(work.deployment, active_sets(work.sets.all()));
  return std::all_of(sizes.begin(), sizes.end(),
                     [&work](const Resize& each) { return resize_set(work, *each.set, each.replicas); });
}

bool delete_surplus_sets(DeploymentWork& work) {
  const std::optional<std::int32_t>& limit = work.deployment.spec.revision_history_limit;
  if (!limit || *limit == std::numeric_limits<std::int32_t>::max()) return true;
  std::vector<ReplicaSetPtr> candidates = work.sets.old;
  const std::optional<RolloutStatus>& rollout = work.deployment.status.rollout;
  std::erase_if(candidates, [&](const ReplicaSetPtr& set) {
    // A rollout plan may go back to the stable one.
    const bool is_stable = rollout && hash_of(*set) == rollout->stable_revision;
    return is_stable || set->metadata.deletion.has_value();
  });
  const auto surplus = static_cast<std::int64_t>(candidates.size()) - *limit;
  if (surplus <= 0) return true;
  stable_sort(candidates, [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
    return revision_of(*a).value_or(0) < revision_of(*b).value_or(0);
  });
  candidates.resize(static_cast<std::size_t>(surplus));
  for (const ReplicaSetPtr& set : candidates) {
    if (!is_empty(*set)) continue;
    const WriteResult removed = work.cluster.remove(*set, {});
    if (removed.code != WriteResult::Code::not_found && !is_written(work, removed)) return false;
  }
  return true;
}

}  // namespace berth
