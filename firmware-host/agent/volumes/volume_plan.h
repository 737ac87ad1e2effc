// VolumePlan: the volumes of a pod, read of its manifest before anything is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/node_path.h"
#include "firmware-host/agent/volumes/pod_fields.h"
#include "firmware-host/agent/volumes/projected_volume.h"
#include "firmware-host/agent/volumes/volume_ownership.h"

namespace berth {

struct VolumePlan {
  enum class Kind : std::uint8_t {
    empty_dir,  // a directory of the pod, on its disk
    memory,     // emptyDir with medium: Memory
    node_path,  // hostPath
    bound,      // of a claim
    projected
  };
  Kind kind = Kind::empty_dir;
  std::string name;
  std::string path;                  // absolute: what is mounted into containers
  bool read_only = false;            // every mount of it is
  std::int64_t size_limit = 0;       // bytes; memory: of the file system; empty_dir: for whoever enforces it; 0: none
  std::string type;                  // node_path: hostPath.type
  Projection projection;             // projected
  std::optional<VolumeGroup> group;  // of what is made or bound for the pod; never of a hostPath
};

// Of spec.volumes, in its order. `bound`: those that came with the pod; whether they are there is for find_volumes()
// (bound_volumes.h) to say. `pod_directory`: what belongs to the pod alone is below its volumes/. Every error names the
// field and the fix.
Result<std::vector<VolumePlan>> plan_volumes(const PodFacts& facts, const std::vector<BoundVolume>& bound,
                                             const std::string& pod_directory);

// What the containers of a pod may take of memory together: its own limit, or what they may at most run at a time; none
// if one of them has no limit (pkg/kubelet/cm ResourceConfigForPod). The error names the field.
Result<std::optional<std::int64_t>> memory_limit_of_pod(const Json& pod_spec);

}  // namespace berth
