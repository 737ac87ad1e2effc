#include "core/controllers/stateful_set/stateful_set_rules.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/controllers/percent.h"
#include "core/controllers/revisions.h"
#include "core/controllers/stateful_set/stateful_set_members.h"

namespace berth {
namespace {

// The counts by pods that exist.
void count_pods(const StatefulSet& set, const std::vector<ControlledPodPtr>& pods, Millis now,
                StatefulSetStatus& status) {
  status.replicas = static_cast<std::int32_t>(pods.size());
  status.ready_replicas = status.available_replicas = status.current_replicas = status.updated_replicas = 0;
  for (const ControlledPodPtr& pod : pods) {
    if (is_running_and_ready(*pod)) {
      ++status.ready_replicas;
      if (is_available(*pod, set.spec.min_ready_seconds, now)) ++status.available_replicas;
    }
    if (pod->metadata.deletion) continue;
    const std::string revision = revision_label(*pod);
    if (revision == status.current_revision) ++status.current_replicas;
    if (revision == status.update_revision) ++status.updated_replicas;
  }
}

// Without pods whose ordinal is no number.
std::vector<ControlledPodPtr> existing_pods(const SetMembers& members) {
  std::vector<ControlledPodPtr> pods;
  for (const std::vector<SetMember>* list : {&members.replicas, &members.condemned}) {
    for (const SetMember& member : *list) {
      if (member.is_created) pods.push_back(member.pod);
    }
  }
  return pods;
}

// The first of the replicas, else of the condemned from the lowest ordinal, that is not available; null if all are.
const ControlledPod* first_unavailable(const StatefulSet& set, const SetMembers& members, Millis now) {
  for (const SetMember& replica : members.replicas) {
    if (is_unavailable(set, *replica.pod, now)) return replica.pod.get();
  }
  for (auto member = members.condemned.rbegin(); member != members.condemned.rend(); ++member) {
    if (is_unavailable(set, *member->pod, now)) return member->pod.get();
  }
  return nullptr;
}

bool is_outdated(const SetMember& replica, const StatefulSetStatus& status) {
  return revision_label(*replica.pod) != status.update_revision && !replica.pod->metadata.deletion;
}

struct UpdateLimits {
  std::size_t first = 0;  // index of the lowest pod to update
  std::int32_t max_unavailable = 1;
};
UpdateLimits update_limits(const StatefulSet& set) {
  UpdateLimits limits;
  if (!set.spec.rolling_update) return limits;
  const StatefulSetRollingUpdate& rolling = *set.spec.rolling_update;
  limits.first = static_cast<std::size_t>(rolling.partition);
  if (rolling.max_unavailable) {
    limits.max_unavailable = std::max(1, scaled_down(rolling.max_unavailable, set.spec.replicas));
  }
  return limits;
}

// Deletes the highest outdated pod, unless a pod above it is unavailable.
Status update_one(SetMemberActions& actions, const StatefulSet& set, const std::vector<SetMember>& replicas, Millis now,
                  StatefulSetStatus& status) {
  const std::size_t first = update_limits(set).first;
  for (std::size_t i = replicas.size(); i > first; --i) {
    const SetMember& replica = replicas[i - 1];
    if (is_outdated(replica, status)) {
      const SetMemberActions::Deletion deletion = actions.remove(replica);
      if (deletion.status.is_success() || deletion.is_gone) --status.current_replicas;
      return deletion.status;
    }
    if (is_unavailable(set, *replica.pod, now)) break;
  }
  return Status::ok();
}

// Deletes the highest outdated pods, as many as may be unavailable besides those that are (
// updateStatefulSetAfterInvariantEstablished).
Status update_many(SetMemberActions& actions, const StatefulSet& set, const std::vector<SetMember>& replicas,
                   Millis now, StatefulSetStatus& status) {
  const UpdateLimits limits = update_limits(set);
  std::int64_t allowed = limits.max_unavailable;
  for (const SetMember& replica : replicas) allowed -= is_unavailable(set, *replica.pod, now) ? 1 : 0;
  for (std::size_t i = replicas.size(); i > limits.first && allowed > 0; --i) {
    if (!is_outdated(replicas[i - 1], status)) continue;
    const SetMemberActions::Deletion deletion = actions.remove(replicas[i - 1]);
    if (!deletion.status.is_success() && !deletion.is_gone) return deletion.status;
    --allowed;
    --status.current_replicas;
  }
  return Status::ok();
}

}  // namespace

StatefulSetOutcome update_stateful_set(ClusterAccess& cluster, const StatefulSet& set,
                                       const StatefulSetRevisions& revisions, const std::vector<ControlledPodPtr>& pods,
                                       const StatefulSetOptions& options) {
  const Millis now = cluster.now();
  StatefulSetOutcome outcome;
  StatefulSetStatus& status = outcome.status;
  status.observed_generation = set.metadata.generation;
  status.current_revision = revisions.current->metadata.name;
  status.update_revision = revisions.update->metadata.name;
  status.collision_count = revisions.collision_count;
  if (set.metadata.deletion) {
    count_pods(set, pods, now, status);
    return outcome;
  }
  const SetMembers members = set_members(set, revisions, pods);
  count_pods(set, existing_pods(members), now, status);
  SetMemberActions actions(cluster, set, revisions);
  const ControlledPod* first = first_unavailable(set, members, now);
  const SetMemberActions::Step step = actions.scale(members, first);
  outcome.result = step.status;
  if (!step.status.is_success() || step.stops || set.spec.on_delete) return outcome;
  outcome.result = options.max_unavailable ? update_many(actions, set, members.replicas, now, status)
                                           : update_one(actions, set, members.replicas, now, status);
  return outcome;
}

void complete_rolling_update(const StatefulSet& set, StatefulSetStatus& status) {
  if (set.spec.on_delete || status.updated_replicas != set.spec.replicas ||
      status.ready_replicas != set.spec.replicas || status.replicas != set.spec.replicas) {
    return;
  }
  status.current_replicas = status.updated_replicas;
  status.current_revision = status.update_revision;
}

}  // namespace berth
