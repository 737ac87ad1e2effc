// PodPlanner: from a pod's manifest to what its keeper is told, on this node. The same in the agent and in the spare
// process that becomes a keeper (children.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/runtime.h"
#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/containers/container_machine.h"
#include "firmware-host/agent/containers/container_planner.h"
#include "firmware-host/agent/keeper.h"
#include "firmware-host/agent/processes/process_machine.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// Whose pods these are.
struct PodSite {
  std::string fleet;  // fleet and node are part of every tag; several agents may share a machine
  std::string node;
  std::string root;  // absolute; the directories of pods are in it
};

// What runs the containers of a pod.
enum class PodRuntime : std::uint8_t {
  bare,       // processes of the machine as they are (workload.h)
  sandboxed,  // processes of the machine with control groups, users and mounts of their own (processes/)
  containers  // an OCI runtime (containers/)
};

class PodPlanner {
 public:
  PodPlanner(PodSite site, CrashBackoff backoff, LogLimits logs, VolumeDemands demands)
      : site_(std::move(site)), backoff_(backoff), logs_(logs), demands_(std::move(demands)) {}

  // Until then processes are bare.
  void set_processes(ProcessMachine machine) { processes_ = std::move(machine); }
  // Its path; until then no check is made over TLS.
  void set_curl(std::string path) { curl_ = std::move(path); }
  // Until then pods with images are refused. `sources` outlives it.
  void set_containers(ContainerMachine machine, const PodSources& sources);
  // Brings ConfigMaps and Secrets to keepers, which have none without it; it outlives this.
  void set_objects(KeeperObjects& objects) { objects_ = &objects; }
  KeeperObjects* objects() const { return objects_; }
  // As in the tags of its processes.
  std::string text_of(const Tag& tag) const;

  std::string directory_of(const Tag& tag) const;
  // Pending: this machine runs no containers, or cannot run it any more as it was run.
  Result<PodRuntime> runtime_of(const Tag& tag, const Json& pod) const;
  // What does not depend on images. is_new: it is refused if its runtime cannot do all that it asks for. Every error
  // names the field and the fix.
  Result<Workload> plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes,
                        bool is_new = false) const;
  // All that a keeper needs. Pending: an image is not there.
  Result<Workload> plan_run(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) const;
  // Of a pod that never had a keeper.
  KeeperPlan first_keeper(const Tag& tag, Workload workload) const;
  // The same from a text of PodOrder; none: it is no such text, or the pod cannot be planned.
  std::optional<KeeperPlan> first_keeper(const std::string& order) const;

 private:
  PodRuntime process_runtime() const;
  const std::vector<std::string>& features_for(const Json& pod) const;  // of one that is new
  Result<Workload> plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes, bool is_new,
                        bool is_to_run) const;
  PodSite site_;
  CrashBackoff backoff_;
  LogLimits logs_;
  VolumeDemands demands_;
  std::string curl_;
  std::optional<ContainerMachine> machine_;
  std::optional<ProcessMachine> processes_;
  const PodSources* sources_ = nullptr;
  KeeperObjects* objects_ = nullptr;
};

}  // namespace berth
