// What KeeperRuntime keeps of a pod. Private to keeper_runtime*.cc.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "firmware-host/agent/keeper_runtime.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/fd_watch.h"

namespace berth {

struct KeeperRuntime::Pod {
  Tag tag;
  std::string directory;
  std::string manifest;
  std::vector<BoundVolume> volumes;
  std::optional<Workload> planned;  // between prepare() and the fork ahead of Bind
  ProcessId keeper;
  KeeperTagged tagged;               // of a keeper that was forked here
  std::unique_ptr<FdWatch> exit;     // of the keeper; null: none is running
  std::optional<int> exit_code;      // of the last keeper; none if it was killed or not our child
  std::unique_ptr<FdWatch> sweeper;  // exit of the sweeper, while one is running
  int watch = -1;                    // inotify, on the directory
  std::string reported;              // status text last passed to the handler
  bool reported_finished = false;
  bool had_no_keeper = false;  // none, ever: nothing of the pod can run
  bool may_go = false;
  bool evicted = false;  // as its directory says; nothing of it is run again
  bool stopping = false;
  Millis stop_grace_ms = 0;
  bool removing = false;  // the sweeper also deletes the directory
  RestartDelay revival;   // of its keepers
  Millis keeper_since = 0;
  Timers::Id timer = 0;

  // A search of all processes takes longer than everything else that a start needs. It may have missed a keeper of a
  // killed agent that had not got its tag yet; nobody can release that one, and the stop of the pod finds it.
  bool never_had_keeper(const std::optional<std::set<Tag>>& inherited) const {
    return inherited && !inherited->contains(tag) && keeper.pid == 0;
  }
};

inline constexpr Millis kRetry = 1000;  // after an operation that could not be carried out

}  // namespace berth
