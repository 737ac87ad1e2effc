#include "core/controllers/daemon_set/daemon_set_rollout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/controllers/revisions.h"
#include "core/controllers/rollout/pod_health.h"
#include "core/controllers/rollout/rollout_zones.h"

namespace berth {
namespace {

RolloutNode rollout_node(const DaemonView& view, const ControlledNode& node) {
  RolloutNode out;
  out.name = node.metadata.name;
  out.labels = node.metadata.labels;
  out.silent_since = node.silent_since;
  const auto found = view.pods.find(node.metadata.name);
  if (found == view.pods.end()) return out;
  for (const ControlledPodPtr& pod : found->second) {
    if (pod->metadata.deletion) {
      if (!out.deletion_asked || *out.deletion_asked < pod->deletion_asked.value_or(0)) {
        out.deletion_asked = pod->deletion_asked;
      }
      continue;
    }
    out.has_pod = true;
    if (revision_label(*pod) == view.hash) set_health(*pod, out);
  }
  return out;
}

// Silent nodes count also where a taint that says so keeps further pods away.
bool is_in_rollout(const DaemonView& view, const DaemonNode& node) {
  if (node.fit.should_run) return true;
  return node.node->silent_since && node.fit.may_continue && view.pods.contains(node.node->metadata.name);
}

// The newest revision but the present one that pods have; empty: none.
std::string running_revision(const DaemonView& view, std::vector<RevisionPtr> old) {
  std::set<std::string> live;
  for (const auto& [node, pods] : view.pods) {
    for (const ControlledPodPtr& pod : pods) live.insert(revision_label(*pod));
  }
  sort_revisions(old);
  const auto found = std::find_if(old.rbegin(), old.rend(),
                                  [&](const RevisionPtr& each) { return live.contains(revision_label(*each)); });
  return found == old.rend() ? "" : revision_label(**found);
}

}  // namespace

DaemonRollout daemon_rollout(const DaemonView& view, const DaemonSetHistory& history, const TimeZoneFiles& zones) {
  const DaemonSet& set = view.set;
  RolloutZones node_zones(*set.rollout.plan, zones);
  RolloutInput input{.plan = *set.rollout.plan,
                     .paused = set.rollout.paused,
                     .before = set.status.rollout,
                     .revision = view.hash,
                     .revisions = {view.hash},
                     .running = running_revision(view, history.old),
                     .nodes = {},
                     .note = {},
                     .now = view.now};
  for (const RevisionPtr& each : history.old) input.revisions.insert(revision_label(*each));
  for (const DaemonNode& node : view.nodes) {
    if (!is_in_rollout(view, node)) continue;
    RolloutNode& added = input.nodes.emplace_back(rollout_node(view, *node.node));
    added.zone = node_zones.of(added.labels.get());
  }
  input.note = node_zones.problem();
  DaemonRollout rollout{.decision = decide_rollout(input), .newest = view.hash, .stable = nullptr};
  const std::string& stable = rollout.decision.status.stable_revision;
  if (stable == view.hash) rollout.stable = history.current;
  for (const RevisionPtr& each : history.old) {
    if (revision_label(*each) == stable) rollout.stable = each;
  }
  return rollout;
}

}  // namespace berth
