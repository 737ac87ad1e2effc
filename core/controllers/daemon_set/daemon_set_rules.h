// What a DaemonSet does with its pods, and its status (pkg/controller/daemon/daemon_controller.go and update.go).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/controllers/cluster_access.h"
#include "core/controllers/daemon_set/daemon_pods.h"
#include "core/controllers/daemon_set/failed_pod_backoff.h"
#include "core/status.h"

namespace berth {

// What is to be done; nothing has been done yet.
struct DaemonWork {
  std::vector<std::string> nodes;      // that need a pod
  std::vector<ControlledPodPtr> gone;  // pods to delete
  std::optional<Millis> wake_at;       // when a failed pod may be replaced; milliseconds since 1970
  bool is_empty() const { return nodes.empty() && gone.empty(); }
};

// One pod on each node that should have one, none where it may not stay; those that have ended are replaced, with
// events and, after failures, a back-off (manage, podsShouldBeOnNode).
DaemonWork plan_daemon_pods(ClusterAccess& cluster, const DaemonView& view, FailedPodBackoff& backoff);

// The next step of a rolling update, on nodes in order of their names (rollingUpdate). With surge, an old pod for a
// node that does not exist is an error.
Result<DaemonWork> plan_daemon_update(const DaemonView& view);

// Creates in slow start, and deletes, `burst` pods of each at most. The first failure (syncNodes).
Status do_daemon_work(ClusterAccess& cluster, const DaemonView& view, const DaemonWork& work, std::size_t burst);

// The oldest pod on each node that should run one, by the name of the node: those that the status counts.
std::vector<ControlledPodPtr> oldest_pods(const DaemonView& view);
// By the pods as they were before (updateDaemonSetStatus).
DaemonSetStatus daemon_set_status(const DaemonView& view);

}  // namespace berth
