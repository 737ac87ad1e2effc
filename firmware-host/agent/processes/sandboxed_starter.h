// SandboxedStarter: the containers of one pod as processes of the machine, each with a control group, a user and mounts
// of its own, the latter by bubblewrap. For the keeper's process alone, which enters a mount namespace that has the
// pod's volumes.
//
//   <pod directory>/process-sandbox/  a tmpfs: seen by the keeper and its children only
//     <container>/subpaths/           what is bound of volumes with subPath
//     <container>/run.json            for commands in it (RunRecord)
//   <pod directory>/scratch/          working directory of containers without workingDir
#pragma once

#include <map>
#include <string>
#include <vector>

#include "firmware-host/agent/container_starter.h"
#include "firmware-host/agent/containers/object_file.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/oci/sandbox.h"
#include "firmware-host/agent/processes/process_place.h"
#include "firmware-host/agent/processes/process_planner.h"

namespace berth {

// Of a container's directory in the sandbox of its pod, which is at `directory`.
std::string run_record_path(const std::string& directory, const std::string& container);

class SandboxedStarter final : public ContainerStarter {
 public:
  // `plan` outlives it.
  explicit SandboxedStarter(const SandboxPlan& plan);

  Result<bool> make_ready() override;
  std::vector<std::string> addresses() const override { return plan_.host_ips; }
  void take_objects() override;
  Result<StartedRun> start(const ContainerPlan& plan) override;
  Result<StartedRun> exec(const ContainerPlan& plan, const std::vector<std::string>& command) override;
  Result<int> kill_rest(const ContainerPlan& plan) override;
  Result<int> kill_pod() override;
  Result<int> kill_all() override;
  bool remove() override;

 private:
  // The last run of a container.
  struct Run {
    Descriptor mounts;
    RunRecord record;
  };

  PodFacts facts() const;
  PodCgroup group_of(const std::string& container) const { return PodCgroup(plan_.cgroup + "/" + container); }
  Status enter();
  Result<Variables> environment(const ProcessSetup& setup, const UserIds& user) const;
  Result<Descriptor> make_mounts_of(const ContainerPlan& plan, const Variables& variables) const;
  Result<Run> make_run(const ContainerPlan& plan, const UserIds& user, const Variables& variables) const;
  Result<ProcessPlace> place_of(const std::string& container) const;

  const SandboxPlan& plan_;
  const SandboxOptions sandbox_;
  const PodCgroup cgroup_;
  ObjectFile objects_;
  const std::string tag_;     // in the environment of every process of the pod
  bool is_inside_ = false;    // of the mount namespace, which is entered once
  bool has_entered_ = false;  // and has the control group
  bool has_volumes_ = false;
  std::map<std::string, Run> runs_;  // by container
};

}  // namespace berth
