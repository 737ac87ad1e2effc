// The keeper: one process per pod that outlives the agent and is the parent of the pod's containers.
//
//   held ──SIGUSR1──▶ init containers, one by one ──▶ containers, in parallel ──all ended for good──▶ exit
//     │                              │  SIGTERM(grace)         │  SIGTERM(grace)
//     └──SIGTERM──▶ exit             └─────────▶ stopping: preStop, stop signal, SIGKILL after grace ──▶ exit
//
// It is forked without exec (children.h), ahead of Bind where it can be: it needs no file on disk and starts held, so
// that a workload never runs before the agent has recorded it. It stays held if the agent dies; the next agent takes it
// over or stops it, by signals. It leads its own session and is the subreaper of its pod's orphans; plain
// processes are killed when it exits (PR_SET_PDEATHSIG), containers by whoever comes next (containers/README.md).
// Before each run it looks for the pod's volumes; while one is missing, the container waits with reason StartDelayed.
// What a kubelet does around a container it does in one loop that never blocks: probes (prober.h), hooks (hook_run.h),
// restarts (crash_backoff.h), the pod's deadline; how a process is started is left to its ContainerStarter. It writes
// its state to <pod directory>/state.json (pod_state.h), output to <pod directory>/<container>.log (container_log.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "firmware-host/agent/bound_volumes.h"
#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/container_starter.h"
#include "firmware-host/agent/crash_backoff.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/workload.h"

namespace berth {

struct KeeperPlan {
  Workload workload;
  std::string directory;  // the pod's
  CrashBackoff backoff;
  LogLimits logs;
  VolumeDemands demands;  // as the configuration stood when it was forked
  bool is_first = false;  // the pod had no keeper before, which could have left processes behind
  std::map<std::string, ContainerReport> earlier;  // by container, as an earlier keeper of this pod left it
  std::string started_at;                          // of the pod, likewise; empty: now
  ActiveSince active;                              // likewise
  std::vector<ConditionReport> conditions;         // likewise
};

// Exit codes of a keeper, used if its directory was removed. kKeeperStopped also: its last state is left to the agent,
// since the disk has no space for it before the files of the pod, which is evicted, are removed.
inline constexpr int kKeeperSucceeded = 10;
inline constexpr int kKeeperFailed = 11;
inline constexpr int kKeeperStopped = 12;

// Signals to a keeper. SIGTERM's value is the grace period in milliseconds; with a plain kill(1) the pod's own applies.
inline constexpr int kGoSignal = 10;    // SIGUSR1
inline constexpr int kStopSignal = 15;  // SIGTERM
// To the keeper of a pod with containers: its ConfigMaps and Secrets are others now.
inline constexpr int kObjectsSignal = 1;  // SIGHUP
// Its pod is evicted, as its directory says (eviction_record.h). A keeper of an earlier version is ended by it, with
// its pod's processes, and the record tells what has become of the pod.
inline constexpr int kEvictSignal = 12;  // SIGUSR2

// What a keeper does, until its pod has ended; returns one of the exit codes above. `signals` is a signalfd of SIGCHLD
// and the signals above, which are blocked.
int keep(const KeeperPlan& plan, ContainerStarter& starter, int signals);

}  // namespace berth
