// What ProcessRuntime keeps of a pod. Private to process_runtime*.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "firmware-host/agent/process_runtime.h"
#include "firmware-host/fd_watch.h"

namespace berth {

struct ProcessRuntime::Pod {
  Tag tag;
  std::string directory;
  std::string manifest;
  std::vector<BoundVolume> volumes;
  Status prepared;  // result of prepare(), until reported
  ProcessId keeper;
  std::unique_ptr<FdWatch> exit;     // of the keeper; null: none is running
  std::unique_ptr<FdWatch> sweeper;  // exit of the sweeper, while one is running
  int watch = -1;                    // inotify, on the directory
  std::string reported;              // status text last passed to the handler
  bool reported_finished = false;
  bool may_go = false;
  bool stopping = false;
  bool removing = false;       // the sweeper also deletes the directory
  Millis revive_delay_ms = 0;  // before the last new keeper
  Millis keeper_since = 0;
  Timers::Id timer = 0;
};

inline constexpr const char* kTrashDirectory = "/.trash";  // below the root

// Whether the uid can be part of a directory's name.
bool is_plain(const std::string& uid);

}  // namespace berth
