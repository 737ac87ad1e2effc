// From the manifest of a pod to what its keeper does, for the container runtime. A pure function of the manifest, the
// machine and the images that it has.
#pragma once

#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/containers/container_machine.h"
#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// An image as a container starts from it.
struct PlannedImage {
  std::string id;                   // of its config: "sha256:..."
  std::vector<std::string> layers;  // directories, lowest first
  ImageConfig config;
};

// What a pod refers to on this machine.
class PodSources {
 public:
  virtual ~PodSources() = default;
  // The image which this pod was given for the name in its manifest. Pending: it is not there yet.
  virtual Result<PlannedImage> image_of(const Tag& pod, const std::string& name) const = 0;
};

// `sources`: null to look at the manifest alone; containers then have no setup. `objects`: what the pod's keeper is
// given of them; null: nothing. Every error names the field or container and the fix.
Result<Workload> plan_container_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                                         const Site& site, const ContainerMachine& machine, const PodSources* sources,
                                         const KeeperObjects* objects);

}  // namespace berth
