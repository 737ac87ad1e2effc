// The conditions of a pod's status that its device knows: PodReadyToStartContainers, Initialized, Ready and
// ContainersReady, as pkg/kubelet/status/generate.go makes them. PodScheduled is the gateway's.
#pragma once

#include <string>
#include <vector>

#include "firmware-host/agent/pod_state.h"

namespace berth {

// Sets them by what the state says otherwise. One whose status changes gets the time `now`; empty: it is not known.
// `readiness_gates`: the types of spec.readinessGates, conditions of the pod that others would have to set. Nobody can
// here, so that such a pod is never Ready.
void update_conditions(PodState& state, const std::vector<std::string>& readiness_gates, const std::string& now);

}  // namespace berth
