// ContainerEntries: the containers of a keeper's pod, in the order of its manifest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "firmware-host/agent/container_entry.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// The reason of a container that waits for its first run (pkg/kubelet/kubelet_pods.go).
const char* waiting_reason(const Workload& workload);

struct ContainerEntries {
  // `workload` and `state` outlive them; `state` gets a report for each. `earlier`: by container, as an earlier keeper
  // left it.
  void add(const Workload& workload, const std::map<std::string, ContainerReport>& earlier, PodState& state);

  std::vector<ContainerEntry*> all();
  bool any_running() const;
  // One that is no sidecar has ended for good otherwise than well.
  bool has_failed_init() const;
  std::vector<Check*> checks();

  std::vector<ContainerEntry> init;
  std::vector<ContainerEntry> main;
};

}  // namespace berth
