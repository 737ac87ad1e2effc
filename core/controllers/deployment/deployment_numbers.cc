#include "core/controllers/deployment/deployment_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/percent.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

struct Fences {
  std::int32_t surge = 0;
  std::int32_t unavailable = 0;
};

// Both zero would never let anything change (ResolveFenceposts).
Fences fences_of(const Deployment& deployment) {
  Fences fences{scaled_up(deployment.spec.max_surge, deployment.spec.replicas),
                scaled_down(deployment.spec.max_unavailable, deployment.spec.replicas)};
  if (fences.surge == 0 && fences.unavailable == 0) fences.unavailable = 1;
  return fences;
}

template <class Number>
std::int32_t sum(const std::vector<ReplicaSetPtr>& sets, const Number& number) {
  std::int32_t total = 0;
  for (const ReplicaSetPtr& set : sets) total += number(*set);
  return total;
}

// What the size of one set changes by when the Deployment is scaled (getReplicaSetFraction).
std::int32_t share_of(const ReplicaSet& set, const Deployment& deployment) {
  const std::int32_t size = set.spec.replicas;
  if (deployment.spec.replicas == 0) return -size;
  const std::int64_t allowed = deployment.spec.replicas + max_surge(deployment);
  std::int32_t before = number_annotation(set, kMaxReplicas).value_or(0);
  if (before == 0) before = deployment.status.replicas;  // somebody has removed the annotation
  if (before == 0) return 0;
  const double scaled = static_cast<double>(size * allowed) / before;
  return static_cast<std::int32_t>(std::round(scaled)) - size;
}

}  // namespace

std::vector<ReplicaSetPtr> ReplicaSets::all() const {
  std::vector<ReplicaSetPtr> sets = old;
  if (newest != nullptr) sets.push_back(newest);
  return sets;
}

std::int32_t max_surge(const Deployment& deployment) {
  return deployment.spec.recreate ? 0 : fences_of(deployment).surge;
}

std::int32_t max_unavailable(const Deployment& deployment) {
  if (deployment.spec.recreate || deployment.spec.replicas == 0) return 0;
  return std::min(fences_of(deployment).unavailable, deployment.spec.replicas);
}

std::int32_t wanted_replicas(const std::vector<ReplicaSetPtr>& sets) {
  return sum(sets, [](const ReplicaSet& set) { return set.spec.replicas; });
}

std::int32_t actual_replicas(const std::vector<ReplicaSetPtr>& sets) {
  return sum(sets, [](const ReplicaSet& set) { return set.status.replicas; });
}

std::int32_t available_replicas(const std::vector<ReplicaSetPtr>& sets) {
  return sum(sets, [](const ReplicaSet& set) { return set.status.available_replicas; });
}

std::vector<ReplicaSetPtr> active_sets(const std::vector<ReplicaSetPtr>& sets) {
  std::vector<ReplicaSetPtr> active;
  for (const ReplicaSetPtr& set : sets) {
    if (set->spec.replicas > 0) active.push_back(set);
  }
  return active;
}

bool is_older(const ReplicaSet& a, const ReplicaSet& b) {
  const Millis first = a.metadata.created.value_or(0), second = b.metadata.created.value_or(0);
  return first != second ? first < second : a.metadata.name < b.metadata.name;
}

std::int32_t new_set_replicas(const Deployment& deployment, const std::vector<ReplicaSetPtr>& all,
                              std::int32_t newest_replicas) {
  const std::int32_t wanted = deployment.spec.replicas;
  if (deployment.spec.recreate) return wanted;
  const std::int32_t room = wanted + scaled_up(deployment.spec.max_surge, wanted) - wanted_replicas(all);
  return room <= 0 ? newest_replicas : newest_replicas + std::min(room, wanted - newest_replicas);
}

std::vector<Resize> proportional_sizes(const Deployment& deployment, std::vector<ReplicaSetPtr> active) {
  const std::int32_t allowed = deployment.spec.replicas > 0 ? deployment.spec.replicas + max_surge(deployment) : 0;
  const std::int32_t to_add = allowed - wanted_replicas(active);
  if (to_add != 0) {
    stable_sort(active, [to_add](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
      if (a->spec.replicas != b->spec.replicas) return a->spec.replicas > b->spec.replicas;
      return to_add > 0 ? is_older(*b, *a) : is_older(*a, *b);
    });
  }
  std::vector<Resize> sizes;
  std::int32_t added = 0;
  for (const ReplicaSetPtr& set : active) {
    std::int32_t change = 0;
    if (to_add != added) {
      const std::int32_t share = share_of(*set, deployment);
      change = to_add > 0 ? std::min(share, to_add - added) : std::max(share, to_add - added);
    }
    sizes.push_back({set, set->spec.replicas + change});
    added += change;
  }
  if (!sizes.empty()) sizes.front().replicas = std::max(sizes.front().replicas + to_add - added, 0);
  return sizes;
}

}  // namespace berth
