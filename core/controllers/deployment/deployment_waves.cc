#include "core/controllers/deployment/deployment_waves.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/controllers/controlled_node.h"
#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/deployment/deployment_new_set.h"
#include "core/controllers/rollout/pod_health.h"
#include "core/controllers/rollout/rollout_decision.h"
#include "core/controllers/rollout/rollout_message.h"
#include "core/controllers/rollout/rollout_zones.h"

namespace berth {
namespace {

using Phase = RolloutStatus::Phase;

// The old set with pods that has the highest revision; empty: none.
std::string running_hash(const ReplicaSets& sets) {
  const ReplicaSet* highest = nullptr;
  for (const ReplicaSetPtr& set : active_sets(sets.old)) {
    const bool is_higher = highest == nullptr || revision_of(*highest).value_or(0) < revision_of(*set).value_or(0);
    if (is_higher) highest = set.get();
  }
  return highest == nullptr ? "" : hash_of(*highest);
}

// The pods of the new set, and for each that is missing to spec.replicas one that is not updated.
std::vector<RolloutNode> pods_as_nodes(const DeploymentWork& work, const TimeZone* zone) {
  std::vector<RolloutNode> nodes;
  const ReplicaSetPtr& newest = work.sets.newest;
  if (newest != nullptr) {
    for (const ControlledPodPtr& pod : work.cluster.pods_of(newest->metadata.namespace_, newest->metadata.uid)) {
      if (!is_active(*pod)) continue;
      RolloutNode& node = nodes.emplace_back();
      node.name = pod->metadata.name;
      const auto host = find_as<ControlledNode>(work.cluster, ControlledNode::kKind, {"", pod->node_name});
      if (host != nullptr) node.silent_since = host->silent_since;
      set_health(*pod, node);
    }
  }
  for (auto i = static_cast<std::int32_t>(nodes.size()); i < work.deployment.spec.replicas; ++i) {
    nodes.emplace_back().name = "replica " + std::to_string(i + 1);
  }
  for (RolloutNode& node : nodes) node.zone = zone;
  return nodes;
}

RolloutDecision decide(const DeploymentWork& work, const TimeZoneFiles& zones) {
  const Deployment& deployment = work.deployment;
  RolloutZones known(*deployment.rollout.plan, zones);
  const TimeZone* zone = known.of({});
  const std::string revision = new_set_hash(work);
  RolloutInput input{.plan = *deployment.rollout.plan,
                     .paused = deployment.rollout.paused || deployment.spec.paused,
                     .before = deployment.status.rollout,
                     .revision = revision,
                     .revisions = {revision},
                     .running = running_hash(work.sets),
                     .nodes = pods_as_nodes(work, zone),
                     .note = known.problem(),
                     .now = work.cluster.now()};
  for (const ReplicaSetPtr& set : work.sets.old) input.revisions.insert(hash_of(*set));
  return decide_rollout(input);
}

// The stable set counts as the new one, the one that has failed as an old one.
void go_back(ReplicaSets& sets, const std::string& stable) {
  const auto found =
      std::find_if(sets.old.begin(), sets.old.end(), [&](const ReplicaSetPtr& set) { return hash_of(*set) == stable; });
  if (found == sets.old.end()) return;
  std::swap(sets.newest, *found);
  std::erase(sets.old, nullptr);
  std::sort(sets.old.begin(), sets.old.end(),
            [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) { return is_older(*a, *b); });
}

bool write_rollout(DeploymentWork& work, const std::optional<RolloutStatus>& before) {
  if (work.deployment.status.rollout == before) return true;
  if (!write_deployment_status(work)) return false;
  for (WorkloadEvent& event : rollout_events(before, *work.deployment.status.rollout)) {
    work.cluster.record(work.deployment, std::move(event));
  }
  return true;
}

}  // namespace

bool follow_waves(DeploymentWork& work, const TimeZoneFiles& zones) {
  const std::optional<RolloutStatus> before = std::exchange(work.deployment.status.rollout, std::nullopt);
  if (!work.deployment.rollout.plan) return !before || write_deployment_status(work);
  work.deployment.status.rollout = before;
  RolloutDecision decision = decide(work, zones);
  const Phase phase = decision.status.phase;
  if (phase == Phase::rolled_back) {
    go_back(work.sets, decision.status.stable_revision);
  } else if (phase != Phase::complete) {
    work.new_set_limit = static_cast<std::int32_t>(decision.open.size());
  }
  work.next_look = decision.wake_at;
  work.deployment.status.rollout = std::move(decision.status);
  return write_rollout(work, before);
}

}  // namespace berth
