#include "firmware-host/agent/processes/process_machine.h"

#include <unistd.h>

#include <algorithm>

#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/processes/private_mounts.h"
#include "firmware-host/agent/workload.h"
#include "firmware-host/container_settings.h"

namespace berth {

Result<ProcessMachine> find_process_machine(const std::string& bwrap, const std::string& search_path) {
  if (bwrap == ContainerSettings::kNone) return Status::error("containers.bwrap is none");
  if (geteuid() != 0) return Status::error("berth-agent does not run as root");
  const std::string name = bwrap == ContainerSettings::kAutomatic ? "bwrap" : bwrap;
  ProcessMachine machine;
  machine.bwrap = find_program(name, search_path, "/");
  if (machine.bwrap.empty()) {
    return Status::error("program " + name + " not found: install bubblewrap, or name its path in containers.bwrap");
  }
  if (!has_control_groups()) return Status::error("no control groups are mounted at /sys/fs/cgroup");
  if (const Result<Descriptor> tried = make_private_mounts(machine.bwrap, {}); !tried) {
    return Status::error(machine.bwrap + " does not work here: " + tried.error().message());
  }
  machine.memory.is_limitable = has_memory_controller();
  machine.memory.bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return machine;
}

const std::vector<std::string>& sandboxed_process_features() {
  static const std::vector<std::string> kFeatures = [] {
    std::vector<std::string> features = {"configMaps",
                                         "emptyDirMedium",
                                         "emptyDirSizeLimit",
                                         "fieldRefs/spec.serviceAccountName",
                                         "fieldRefs/status.hostIP",
                                         "fieldRefs/status.hostIPs",
                                         "fieldRefs/status.podIP",
                                         "fieldRefs/status.podIPs",
                                         "limits",
                                         "readOnlyMounts",
                                         "resourceFieldRefs",
                                         "secrets",
                                         "securityContext",
                                         "stopSignals",
                                         "subPathExprs",
                                         "volumes/configMap",
                                         "volumes/downwardAPI",
                                         "volumes/projected",
                                         "volumes/secret"};
    features.insert(features.end(), process_features().begin(), process_features().end());
    std::sort(features.begin(), features.end());
    return features;
  }();
  return kFeatures;
}

}  // namespace berth
