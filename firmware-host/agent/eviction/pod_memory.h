// What a pod uses of memory and processes: as its control group counts, or, of plain processes, which share one, as
// their own.
#pragma once

#include <string>

#include "firmware-host/agent/eviction/pod_ranking.h"

namespace berth {

// Fills in what is used. `cgroup`: the pod's (pod_cgroup.h); `tag_text`: of its processes. What cannot be told stays
// unknown.
void measure_pod(PodUse& pod, EvictionSignal signal, const std::string& cgroup, const std::string& tag_text);

}  // namespace berth
