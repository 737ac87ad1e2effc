// Whether the directories of a pod's bound volumes are there. Asked at PreBind and before a pod gets a keeper, and by
// the keeper before each run of a container, since a disk may fail between two of them.
#pragma once

#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

// What the node demands of them.
struct VolumeDemands {
  std::string node;  // named in errors
  // Paths of local volumes, and roots of pools, that count only while something is mounted there.
  std::vector<std::string> mount_points;
};

// The error names the volume and the fix; pending: it cannot be told now. Without `with_new`, those that this node is
// still to make may be missing, but not the disk of their pool.
Status find_volumes(const std::vector<BoundVolume>& volumes, const VolumeDemands& demands, bool with_new = true);

}  // namespace berth
