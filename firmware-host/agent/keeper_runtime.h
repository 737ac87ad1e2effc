// KeeperRuntime: core's Runtime by keepers. Each pod has one (keeper.h), which outlives the agent and runs its
// containers as the pod's plan says (pod_planner.h): as plain processes, as processes in a sandbox, or by an OCI
// runtime.
//
//   <root>/<uid>@<epoch>/       the pod's directory
//     state.json                written by the keeper (pod_state.h); watched here by inotify
//     <container>.log[.1]       output, bounded, and that of the run before (container_log.h)
//     scratch/                  working directory of containers without workingDir
//     volumes/<name>/           emptyDir
//   <root>/.trash/              directories being deleted
//
// If a keeper dies before its pod has ended (kill -9, power cut), its containers die with it. A pod with restartPolicy
// Always or OnFailure then gets a new keeper; one with Never is reported Failed, reason KeeperLost. The agent does not
// learn the new keeper's handle: running processes are always found by their tag, never by a recorded handle. The tag
// is set before the keeper can be released and exists as long as the process.
//
// An operation that cannot be carried out now, because processes or files cannot be looked at (no descriptors, no
// memory, an I/O error), is repeated until it can be: a workload counts as ended only if that is known.
//
// Bound volumes are never removed. Nothing here blocks the loop: a forked sweeper kills and deletes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "firmware-host/agent/bound_volumes.h"
#include "firmware-host/agent/children.h"
#include "firmware-host/agent/exit_collector.h"
#include "firmware-host/agent/pod_planner.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/trash.h"

namespace asio {
class io_context;
}

namespace berth {

struct KeeperRuntimeConfig {
  std::string fleet;  // fleet and node are part of every tag; several agents may share a machine
  std::string node;
  std::string root;                       // absolute; created if missing
  std::vector<std::string> mount_points;  // VolumeDemands
  CrashBackoff backoff;
  LogLimits logs;
  Millis stragglers_after_ms = 1000;  // after list()
  Millis spare_after_ms = 10;         // after a start, until a process is forked ahead of the next one
};

class KeeperRuntime final : public Runtime {
 public:
  // All references must outlive the runtime. Destroying the runtime does not stop workloads.
  KeeperRuntime(KeeperRuntimeConfig config, asio::io_context& context, const Clock& clock, Timers& timers, Log& log);
  ~KeeperRuntime() override;

  // Creates the root directory and starts to watch. Call once, before anything else.
  Status open();

  // Learns what containers are run with before anything else but open(): new pods with images are run in them then.
  PodPlanner& planner() { return planner_; }

  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override;
  Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) override;
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;

  void set_objects(const PodObjects* objects) override;
  void objects_changed(const Tag& tag) override;

  // Pods that are ended by the device itself (keeper_runtime_evict.h).
  class Evictions;
  Evictions& evictions() { return *evictions_; }

 private:
  struct Pod;
  using Next = void (KeeperRuntime::*)(const Tag&);

  // The pod's tag as this node writes it, and then those that its processes have from before the node was renamed.
  std::vector<std::string> texts_of(const Tag& tag) const;
  Pod& pod_of(const Tag& tag);
  void later(Pod& pod, Millis delay, Next next);
  void try_again(Pod& pod, std::string_view what, const Status& why, Next next);

  // Kills held keepers that an agent which was killed had made, and that got their tag after list() had searched.
  void kill_stragglers();
  void fork_ahead(const Tag& tag);
  void fork_spare_later();
  Result<std::string> take_over_or_fork(Pod& pod);
  void start_again(const Tag& tag);
  Status fork_held(Pod& pod);
  void watch_keeper(Pod& pod, const OpenProcess& keeper);
  // False: the pod has no keeper.
  Result<bool> watch_running_keeper(Pod& pod);
  void watch_directory(Pod& pod);
  void read_changes();
  void report(const Tag& tag);
  void on_keeper_exit(const Tag& tag);
  void judge_exit(const Tag& tag);
  void revive(const Tag& tag);
  // Reports the end of a pod whose keeper died, once none of its processes is left.
  void write_lost(const Tag& tag);
  void stop_again(const Tag& tag);
  void give_up(const Tag& tag);
  void sweep(const Tag& tag);
  void on_swept(const Tag& tag);
  // Sweeps and deletes in the background, by a child that is given to the collector.
  void remove_unattended(const Remains& remains, ExitCollector& collector);

  KeeperRuntimeConfig config_;
  VolumeDemands demands_;
  PodPlanner planner_;
  std::unique_ptr<Evictions> evictions_;
  Trash trash_;
  asio::io_context& context_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Handler* handler_ = nullptr;
  std::map<Tag, std::unique_ptr<Pod>> pods_;
  std::map<int, Tag> watched_;                        // by inotify watch
  std::map<Tag, std::set<std::string>> other_texts_;  // as list() found them
  std::optional<std::set<Tag>> inherited_;            // what list() found; none: it has not searched
  std::unique_ptr<FdWatch> inotify_;
  ExitCollector ending_;  // sweepers in the background, and keepers that were killed
  SpareKeeper spare_;
  Timers::Id spare_timer_ = 0;
  Timers::Id stragglers_timer_ = 0;
};

}  // namespace berth
