// What is planned of a pod whose containers are run by an OCI runtime, beside its Workload: the pod's own part, and
// that of each of its containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/api/quantity.h"
#include "core/json/json.h"
#include "firmware-host/agent/cni/cni_config.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/oci/limits.h"
#include "firmware-host/agent/oci/oci_spec.h"
#include "firmware-host/agent/oci/pod_limits.h"
#include "firmware-host/agent/oci/security_context.h"
#include "firmware-host/agent/volumes/volume_mounts.h"
#include "firmware-host/agent/volumes/volume_plan.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// In the directory of a pod that has a sandbox, and of no other: what was decided when it came stays, whatever the
// machine has later.
inline constexpr const char* kSandboxDirectory = "/sandbox";
// The same, of a pod whose processes are the machine's (processes/README.md).
inline constexpr const char* kProcessSandboxDirectory = "/process-sandbox";

class KeeperObjects;

struct SandboxPlan {
  bool of_processes = false;  // of the machine; otherwise of containers
  Json pod;                   // the manifest
  Tag tag;
  std::string tag_text;  // as processes of the pod have it
  std::string node;
  std::vector<std::string> host_ips;  // of the node
  ResourceList allocatable;           // likewise
  std::string objects;                // ConfigMaps and Secrets (object_file.h)
  std::string objects_file;           // where later ones are
  std::vector<VolumePlan> volumes;
  std::string directory;  // the pod's
  std::string cgroup;     // the pod's, below the hierarchy's root (pod_cgroup.h)
  PodLimits limits;       // of that
  std::string id;         // unique on the machine, of letters, digits, '.', '_' and '-'
  std::string runtime;    // path of crun or runc; of processes: of bwrap
  bool host_network = false;
  bool host_ipc = false;
  bool host_pid = false;
  bool share_pids = false;  // spec.shareProcessNamespace
  std::string hostname;
  std::string resolv_conf;               // path of the machine's
  std::optional<CniNetwork> network;     // none with host_network
  std::vector<std::string> cni_plugins;  // directories with them
  std::vector<PortMapping> ports;
};

struct ContainerSetup {
  Json container;    // its part of the manifest
  std::string path;  // of it there: "spec.containers[0]"
  ImageConfig image;
  std::vector<std::string> layers;  // directories, lowest first
  Security security;
  std::vector<std::string> capabilities;
  Json seccomp;    // null: unconfined
  Json resources;  // linux.resources
  int oom_score_adj = 0;
  std::string termination_message_path;
  std::vector<VolumeMountPlan> mounts;
};

inline const char* directory_in_pod(const SandboxPlan& plan) {
  return plan.of_processes ? kProcessSandboxDirectory : kSandboxDirectory;
}

// What a machine can enforce.
struct MachineMemory {
  std::int64_t bytes = 0;    // of the node
  bool is_limitable = true;  // its kernel has the memory controller
};

// What containers and processes of a pod have in common. `objects`: null to look at the manifest alone. An error names
// the field and the fix.
Result<SandboxPlan> begin_sandbox(const PodFacts& facts, const Site& site, const Workload& workload,
                                  const MachineMemory& memory, const KeeperObjects* objects);

// What a container, or the process in its place, is allowed, and how much of the machine it may use.
struct Allowance {
  Security security;
  std::vector<std::string> capabilities;
  ContainerLimits limits;
  int oom_score_adj = 0;
};

// Of the container at `path` ("spec.containers[0]") of a pod; likewise.
Result<Allowance> allowance_of(const Json& pod_spec, const Json& container, const std::string& path,
                               const std::string& node, const MachineMemory& memory);

}  // namespace berth
