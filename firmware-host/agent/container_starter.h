// ContainerStarter: how the containers of one pod are run. All else that a keeper does, it does with whatever its
// runtime has for this. ProcessStarter is for plain processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/container_run.h"
#include "firmware-host/agent/workload.h"

namespace berth {

struct StartedRun {
  std::unique_ptr<ContainerRun> run;
  // What it writes to its standard output and error; they do not block; the caller closes them.
  int output = -1;
  int errors = -1;  // of exec() -1: both are in `output`
  // As containerStatuses[].containerID has it, "runc://<id>"; empty: it is a process, or a command in a container.
  std::string container_id = {};
};

class ContainerStarter {
 public:
  virtual ~ContainerStarter() = default;
  // Makes what all containers of the pod share, without waiting. True: it is there. False: not yet; the end of a child
  // brings it further. An error says why it cannot be made now; the next call tries again.
  virtual Result<bool> make_ready() { return true; }
  // A child has been reaped that belongs to no run. False: it is none of the starter's either.
  virtual bool take_exit(pid_t /*child*/, int /*wait_status*/) { return false; }
  // Once ready: the pod's addresses, the first one being its main one; those of the machine for a pod in its network
  // (pkg/kubelet/kubelet_pods.go convertToAPIPodStatus). Empty: unknown.
  virtual std::vector<std::string> addresses() const { return {}; }
  // Once ready: the address that probes and hooks of the pod go to unless they name another: status.podIP, as a
  // kubelet takes it (pkg/kubelet/prober/prober.go, pkg/kubelet/lifecycle/handlers.go). A pod in the node's network is
  // asked on loopback.
  virtual std::string probe_host() const { return "127.0.0.1"; }

  // The pod's ConfigMaps and Secrets are others now.
  virtual void take_objects() {}

  // The error names the directory or program at fault.
  virtual Result<StartedRun> start(const ContainerPlan& plan) = 0;
  // In a container that runs. An error: the command could not be run, which says nothing of the container.
  virtual Result<StartedRun> exec(const ContainerPlan& plan, const std::vector<std::string>& command) = 0;

  // Once a run has ended: whether anything of it is left, which is killed. 0: nothing.
  virtual Result<int> kill_rest(const ContainerPlan& plan) = 0;
  // Kills what runs of the pod, but nothing that is under way to remove it. Returns how many processes it has found.
  virtual Result<int> kill_pod() = 0;
  // The same, of whatever an earlier keeper of the pod may have left, too.
  virtual Result<int> kill_all() = 0;
  // Once nothing of the pod runs any more: removes what make_ready() has made elsewhere than below the pod's directory.
  // True: it is gone. False: the end of a child brings it further.
  virtual bool remove() { return true; }
};

// Plain processes: a command in a container is one with its environment and in its directory.
class ProcessStarter final : public ContainerStarter {
 public:
  explicit ProcessStarter(std::string tag) : tag_("BERTH_TAG=" + std::move(tag)) {}

  Result<StartedRun> start(const ContainerPlan& plan) override;
  Result<StartedRun> exec(const ContainerPlan& plan, const std::vector<std::string>& command) override;
  Result<int> kill_rest(const ContainerPlan& plan) override;
  Result<int> kill_pod() override;
  Result<int> kill_all() override;

 private:
  const std::string tag_;  // in the environment of every process of the pod
};

}  // namespace berth
