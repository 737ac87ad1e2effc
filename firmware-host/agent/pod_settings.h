// What both runtimes read from a manifest in the same way: the pod's lifetime, and names, probes and hooks of its
// containers. Every error names the field and the fix.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// Whether a path leads upwards: "..", "a/../b".
bool climbs(const std::string& path);

// Whose pod it is; the rest is to be planned.
Workload begin_workload(const Json& pod, const Tag& tag, const Site& site);
// Of a manifest; never, where it cannot be read.
RestartPolicy restart_policy_of(const std::string& manifest);
// restartPolicy, terminationGracePeriodSeconds, activeDeadlineSeconds, readinessGates.
Status read_lifetime(const Json& spec, Workload& workload);
// Name, image, and whether it is a sidecar.
Result<ContainerPlan> begin_container(const Json& container, const std::string& path);
// Each container of spec.initContainers and spec.containers by `plan`, which is given its path ("spec.containers[0]").
Status plan_containers(
    const Json& spec, Workload& workload,
    const std::function<Result<ContainerPlan>(const Json& container, const std::string& path)>& plan);
// Probes and hooks.
Status plan_handlers(const HandlerSource& source, const std::string& path, ContainerPlan& plan);
// What a runtime can do at this site: whatever it is, checks over TLS take a curl. Sorted.
std::vector<std::string> features_at(const Site& site, std::vector<std::string> of_runtime);

}  // namespace berth
