// Claims that a provisioner fills: whether it could for a node, and whether it has (volumebinding/binder.go
// checkVolumeProvisions, checkBindings).
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

// The volume that a claim of the pod got from its provisioner; null: none yet. `asked`: the claim should name the node
// by now. Error: it will not get one that the node reaches.
Result<std::shared_ptr<const PersistentVolume>> provisioned_volume(const Lister& lister, const std::string& claim_key,
                                                                   const Node& node, bool asked);

// The largest volume that may be made there; null: none.
const std::optional<Quantity>& volume_limit(const CsiStorageCapacity& capacity);

}  // namespace berth
