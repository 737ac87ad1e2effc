// From a container's volumeMounts to mounts for its runtime (pkg/kubelet/kubelet_pods.go makeMounts).
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/oci/oci_spec.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/volumes/volume_plan.h"

namespace berth {

struct VolumeMountPlan {
  std::string source;       // the volume's path
  std::string destination;  // absolute
  bool read_only = false;
  std::string propagation;   // as in OciMount
  std::string subpath;       // empty: all of it
  std::string subpath_expr;  // in place of it, with $(NAME)
  std::string where;         // its field in the manifest
};

// Of a container at `path` ("spec.containers[0]"). Refused by name: volumeDevices, recursiveReadOnly: Enabled, and
// mountPropagation: Bidirectional. Every error names the field and the fix.
Result<std::vector<VolumeMountPlan>> plan_mounts(const Json& container, const std::vector<VolumePlan>& volumes,
                                                 const std::string& path);

// Once the volumes are made, in the keeper's mount namespace. A subpath is bound to a path below `directory`, which is
// made if its parent is there, and belongs to this run of this container: what a volume held at its start is what it
// sees. The error names the field.
Result<std::vector<OciMount>> make_mounts(const std::vector<VolumeMountPlan>& mounts, const Variables& variables,
                                          const std::string& directory);

}  // namespace berth
