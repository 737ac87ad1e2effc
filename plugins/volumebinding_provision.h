// Whether a provisioner could make a claim's volume for a node (volumebinding/binder.go checkVolumeProvisions).
#pragma once

#include "core/framework/framework.h"

namespace berth {

enum class Provisioning {
  possible,
  impossible,  // the class has no provisioner, or is not for this node
  no_space,    // its driver publishes capacities, and none that the node reaches is large enough
};
// Error: the class does not exist any more.
Result<Provisioning> can_provision(const Lister& lister, const PersistentVolumeClaim& claim, const Node& node);

// The largest volume that may be made there; null: none.
const std::optional<Quantity>& volume_limit(const CsiStorageCapacity& capacity);

}  // namespace berth
