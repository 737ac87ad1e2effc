// OciStarter: the containers of one pod, run by an OCI runtime in a sandbox: the keeper enters the pod's namespaces,
// and all that must not outlive it is in a tmpfs there. For the keeper's process alone.
//
//   <pod directory>/sandbox/           the tmpfs: seen by the keeper and its children only
//     shm/ hosts hostname resolv.conf  what all containers share
//     runtime/                         where the OCI runtime keeps its containers
//     bundles/<container>/             its bundle: config.json, termination message
//   <pod directory>/containers/<container>/<run>/   what the container writes, on top of its image
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "firmware-host/agent/container_starter.h"
#include "firmware-host/agent/containers/object_file.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/pod_network.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/oci/process_namespace.h"
#include "firmware-host/agent/oci/sandbox.h"

namespace berth {

class OciStarter final : public ContainerStarter {
 public:
  // `plan` outlives it.
  explicit OciStarter(const SandboxPlan& plan);

  Result<bool> make_ready() override;
  bool take_exit(pid_t child, int wait_status) override;
  std::vector<std::string> addresses() const override {
    return plan_.host_network ? plan_.host_ips : network_.addresses();
  }
  std::string probe_host() const override;
  Result<StartedRun> start(const ContainerPlan& plan) override;
  Result<StartedRun> exec(const ContainerPlan& plan, const std::vector<std::string>& command) override;
  Result<int> kill_rest(const ContainerPlan& plan) override;
  Result<int> kill_pod() override { return cgroup_.kill(); }
  Result<int> kill_all() override;
  bool remove() override;
  void take_objects() override;

 private:
  std::string file(const std::string& name) const { return sandbox_.directory + "/" + name; }
  std::string bundle_of(const ContainerPlan& plan) const;
  Status enter();
  Result<std::string> machine_resolver() const;
  Status write_files();
  PodFacts facts() const;
  Result<OciContainer> container_of(const ContainerPlan& plan, const std::string& root) const;
  // What it runs, with its environment and volumes.
  Status add_process(const ContainerPlan& plan, OciContainer& container) const;
  Status add_mounts(const ContainerPlan& plan, const Variables& variables, OciContainer& container) const;
  // An empty root file system of the container's image, ready for its next run.
  Result<std::string> make_root(const ContainerPlan& plan);

  const SandboxPlan& plan_;
  SandboxOptions sandbox_;
  ProcessNamespace processes_;  // made if they are shared
  PodCgroup cgroup_;
  PodNetwork network_;
  ObjectFile objects_;
  bool is_inside_ = false;  // of its namespaces, which are entered once
  bool has_entered_ = false;
  bool has_files_ = false;
  std::uint64_t runs_ = 0;
  // By container, of a start that has to wait: it is tried each second, and must not write to the disk each time.
  std::map<std::string, std::string> unused_roots_;
};

}  // namespace berth
