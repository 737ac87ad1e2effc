// ProcessRuntime: runs pods as plain processes of the machine, without images, namespaces or limits (workload.h says
// what that means for a manifest). Each pod has a keeper (keeper.h) that outlives the agent.
//
//   <root>/<uid>@<epoch>/       the pod's directory
//     state.json                written by the keeper (pod_state.h); watched here by inotify
//     <container>.log[.1]       output, bounded (container_log.h)
//     scratch/                  where containers start, without workingDir
//     volumes/<name>/           emptyDir
//   <root>/.trash/              on its way out
//
// When a keeper dies without having ended its pod (kill -9, power cut), its containers die with it. A pod with
// restartPolicy Always or OnFailure then gets a new keeper; one with Never is reported Failed, reason KeeperLost. The
// new keeper's handle is not brought to the agent: what is alive is found by its tag, never by a recorded handle, so
// the tag, in place before the keeper can be told to go, is what has to be durable, and it lives as long as the
// process.
//
// Granted volumes are never removed. Nothing here blocks the loop: killing and deleting is done by a forked sweeper.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "firmware-host/agent/keeper.h"
#include "firmware-host/agent/pod_state.h"

namespace asio {
class io_context;
}

namespace berth {

class FdWatch;

struct ProcessRuntimeConfig {
  std::string fleet;  // with the node: whose workloads these are; several agents share a machine
  std::string node;
  std::string root;                  // absolute; made when missing
  std::vector<std::string> offered;  // directories offered as local volumes: below them paths are made when missing
  CrashBackoff backoff;
};

class ProcessRuntime final : public Runtime {
 public:
  // All outlive the runtime. Workloads outlive it too: destroying the runtime stops none.
  ProcessRuntime(ProcessRuntimeConfig config, asio::io_context& context, const Clock& clock, Timers& timers, Log& log);
  ~ProcessRuntime() override;
  ProcessRuntime(const ProcessRuntime&) = delete;
  ProcessRuntime& operator=(const ProcessRuntime&) = delete;

  // Makes the root directory and begins to watch. Call once, before anything else.
  Status open();

  void set_handler(Handler* handler) override { handler_ = handler; }
  std::vector<Tag> list() override;
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;

 private:
  struct Pod;
  using Next = void (ProcessRuntime::*)(const Tag&);

  std::string directory_of(const Tag& tag) const;
  std::string text_of(const Tag& tag) const { return tag_text(config_.fleet, config_.node, tag); }
  Pod& pod_of(const Tag& tag);
  void later(Pod& pod, Millis delay, Next next);
  Result<Workload> plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) const;
  Status make_ready(const Workload& workload, const std::string& directory) const;

  void answer_prepared(const Tag& tag);
  Status fork_held(Pod& pod);
  // Watches a keeper from here on; false when it is gone already.
  bool watch_keeper(Pod& pod, const ProcessId& keeper);
  void watch_directory(Pod& pod);
  void read_changes();
  void report(const Tag& tag);
  void on_keeper_exit(const Tag& tag);
  void lose(Pod& pod);
  void revive(const Tag& tag);
  // The end of a pod whose keeper died, told only when nothing of it is left.
  void write_lost(Pod& pod);
  void give_up(const Tag& tag);
  void kill_keeper(const Tag& tag);
  void sweep(const Tag& tag);
  void on_swept(const Tag& tag);
  // Sweeps and deletes with nobody waiting for the end. An empty tag names no process.
  void remove_unattended(const std::string& tag, const std::vector<std::string>& directories);
  // Out of sight at once; the sweeper deletes it. Empty: there was none.
  std::string move_to_trash(const std::string& directory);

  ProcessRuntimeConfig config_;
  asio::io_context& context_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Handler* handler_ = nullptr;
  std::map<Tag, std::unique_ptr<Pod>> pods_;
  std::map<int, Tag> watched_;  // by inotify watch
  std::unique_ptr<FdWatch> inotify_;
  std::map<pid_t, std::unique_ptr<FdWatch>> removers_;  // sweepers that nobody waits for
  int trash_count_ = 0;
};

}  // namespace berth
