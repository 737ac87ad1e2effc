// ContainerEntry: what a keeper knows of a container of its pod, over all of its runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "firmware-host/agent/container_process.h"
#include "firmware-host/agent/crash_backoff.h"
#include "firmware-host/agent/hook_run.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/prober.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// A run that is being ended: first its preStop runs, if it has one, then it is told by SIGTERM, then killed.
struct ContainerEnd {
  Millis kill_at = 0;
  bool told = false;
  Millis least_ms = 0;  // between SIGTERM and SIGKILL, however long preStop took
};

struct ContainerEntry {
  const ContainerPlan* plan = nullptr;
  bool is_init = false;
  ContainerReport* report = nullptr;
  std::unique_ptr<ContainerProcess> process;  // while it runs
  std::unique_ptr<Prober> prober;             // while it runs, has started, and is not being ended
  std::unique_ptr<HookRun> hook;              // postStart; preStop if it is being ended
  std::optional<ContainerEnd> end;
  std::optional<Millis> start_at;  // in backoff until then
  RestartDelay delay;
  Millis started = 0;
  bool has_begun = false;     // the run that goes on: its first process has
  bool was_started = false;   // as `started` of its status, in any run: what waits for a sidecar waits no more
  std::string why_killed;     // by a probe or for its postStart
  std::string reason_killed;  // of which the status has another reason than Error
  bool again = false;         // whatever its exit code is
  bool done = false;          // ended for good

  bool is_running() const { return process != nullptr; }
  bool has_succeeded() const { return done && report->state.exit_code == 0; }
  // Other management of the pod waits for the hook.
  bool is_in_post_start() const { return hook != nullptr && !end; }
};

}  // namespace berth
