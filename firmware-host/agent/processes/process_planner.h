// From the manifest of a pod to what its keeper does, where its containers are processes of the machine in a sandbox.
// A pure function of the manifest and the machine, its file system included: what a mountPath or a command needs must
// be there.
#pragma once

#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/processes/process_machine.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// Of one container, beside its ContainerPlan.
struct ProcessSetup {
  Json container;    // its part of the manifest
  std::string path;  // of it there: "spec.containers[0]"
  Security security;
  std::uint64_t capabilities = 0;  // a bit each
  PodLimits limits;                // of its control group
  int oom_score_adj = 0;
  std::vector<VolumeMountPlan> mounts;
  Variables own;       // BERTH_..., which no manifest may set
  Variables defaults;  // PATH and HOME
};

// `objects`: null to look at the manifest alone. Every error names the field or container and the fix.
Result<Workload> plan_sandboxed_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                                         const Site& site, const ProcessMachine& machine, const KeeperObjects* objects);

}  // namespace berth
