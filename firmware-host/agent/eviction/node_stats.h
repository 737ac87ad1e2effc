// What is free on this machine, as the kubelet sees it (pkg/kubelet/eviction/helpers.go, makeSignalObservations).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "firmware-host/eviction_settings.h"

namespace berth {

struct Observation {
  std::int64_t available = 0;  // bytes, inodes or processes
  std::int64_t capacity = 0;
};
using Observations = std::map<EvictionSignal, Observation>;  // what cannot be told is missing

// memory.available: the capacity without the working set, that is what is free and file pages that were not used for
// long. nodefs: of the file system with `directory`. pid.available, only where it is asked for, as reading three files
// is most of what an idle device does: how many more tasks the kernel allows.
Observations observe_node(const std::string& directory, bool with_pids, const std::string& proc = "/proc");

}  // namespace berth
