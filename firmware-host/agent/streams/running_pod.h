// RunningPod: finds what runs of a pod on this device: its keeper, and the state of its containers.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/status.h"
#include "firmware-host/agent/pod_state.h"

namespace berth {

struct RunningPod {
  Tag tag;
  std::string directory;  // the pod's
  pid_t keeper = 0;
  PodState state;

  // Of its containers, main ones first.
  std::vector<std::string> container_names() const;
  // The name of the container; empty: of the first one. The error says why there is none that runs.
  Result<std::string> running_container(const std::string& name, const std::string& pod) const;
};

// `pods`: the directory of the pods' directories. `pod`: "<namespace>/<name>", for errors.
Result<RunningPod> find_running_pod(const std::string& pods, const std::string& uid, const std::string& pod);

}  // namespace berth
