// The pods of a DaemonSet: what is in them, where they belong, and their order on a node (pkg/controller/daemon/util/
// daemonset_util.go).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/controller_revision.h"
#include "core/api/daemon_set.h"
#include "core/controllers/controlled_pod.h"
#include "core/controllers/daemon_set/daemon_nodes.h"
#include "core/controllers/rollout/rollout_decision.h"
#include "core/json/json.h"

namespace berth {

// What one synchronisation of a DaemonSet decides by.
struct DaemonNode {
  ControlledNodePtr node;
  DaemonFit fit;
};
// What a rollout plan says (daemon_set_rollout.h).
struct DaemonRollout {
  RolloutDecision decision;
  std::string newest;  // the hash of the set's template
  RevisionPtr stable;  // of nodes that may not have the newest yet; null: none
};
struct DaemonView {
  const DaemonSet& set;
  std::string hash;               // the label of pods of the revision that all are to get
  std::vector<DaemonNode> nodes;  // by name
  // Its pods by the name of the node that they are on or made for, ordered by name. Without those that have finished
  // and are being deleted.
  std::map<std::string, std::vector<ControlledPodPtr>> pods;
  Millis now = 0;
  std::optional<DaemonRollout> rollout = {};  // none: there is no plan
};

// The node that a pod is on, or the only one that it may run on; empty: none.
std::string_view target_node(const ControlledPod& pod);
// Those of `pods` that count in DaemonView::pods.
std::map<std::string, std::vector<ControlledPodPtr>> group_by_node(const std::vector<ControlledPodPtr>& pods);

// Whether a pod made for the node now would have a revision: not, where the first one has not come to it yet.
bool has_revision_for(const DaemonView& view, const std::string& node_name);
// The manifest for that node, which has_revision_for().
Json daemon_pod(const DaemonView& view, const std::string& node_name);
// Whether the pod is of the revision that all are to get.
bool is_updated(const DaemonView& view, const ControlledPod& pod);
// Bound pods first, then the older ones.
void sort_by_age(std::vector<ControlledPodPtr>& pods);

bool is_available(const DaemonView& view, const ControlledPod& pod);
// Whether the pod on that node may be replaced by one of that revision now.
bool may_update(const DaemonView& view, const std::string& node_name);
// Whether a pod that is not available there counts against maxUnavailable.
bool counts_unavailable(const DaemonView& view, const std::string& node_name);

// Whether an update makes the new pod before the old one goes.
bool allows_surge(const DaemonSet& set);

}  // namespace berth
