// The keeper: one process per pod that outlives the agent and is the parent of the pod's containers.
//
//   held ──SIGUSR1──▶ init containers, one by one ──▶ containers side by side ──all ended for good──▶ exit
//     │                              │  SIGTERM(grace)         │  SIGTERM(grace)
//     └──SIGTERM──▶ exit             └─────────▶ stopping: SIGTERM to groups, SIGKILL after grace ──▶ exit
//
// It is forked, not executed: it needs no file on disk and starts held, so that a workload never runs before the agent
// knows of it. It stays held when the agent dies; the next agent takes it over or stops it, by signals. It is a
// session of its own and the reaper of its pod's orphans; containers die with it (PR_SET_PDEATHSIG).
// What it knows stands in <pod directory>/state.json (pod_state.h), output in <pod directory>/<container>.log.
#pragma once

#include <map>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// A container that keeps ending is started again after 1, 2, 4, 8, 10, 10 ... seconds. Kubernetes waits 10 s to 5 min:
// its delays pay for image pulls and API traffic that do not exist here, and a device should be back soon.
struct CrashBackoff {
  Millis first_ms = 1000;
  Millis longest_ms = 10000;
  Millis healthy_ms = 60000;  // a run this long counts from the first delay again
};

struct KeeperPlan {
  Workload workload;
  std::string directory;  // the pod's
  CrashBackoff backoff;
  std::map<std::string, int> restarts;  // by container: those of an earlier keeper of this pod
};

// Exit codes of a keeper, for when its directory was taken away.
inline constexpr int kKeeperSucceeded = 10;
inline constexpr int kKeeperFailed = 11;
inline constexpr int kKeeperStopped = 12;

// Signals to a keeper. SIGTERM's value is the grace in milliseconds; a plain kill(1) gives the pod's own.
inline constexpr int kGoSignal = 10;    // SIGUSR1
inline constexpr int kStopSignal = 15;  // SIGTERM

// Forks a held keeper, a child of the calling process.
Result<ProcessId> fork_keeper(const KeeperPlan& plan);

// Forks a child that kills every process tagged `tag` until none is left, then deletes `directories`, then exits with
// 0. It does off the loop what may take long.
Result<ProcessId> fork_sweeper(const std::string& tag, const std::vector<std::string>& directories);

}  // namespace berth
