// Provisioned claims: whether a claim can be provisioned for a node, and whether it has been (volumebinding/binder.go
// checkVolumeProvisions, checkBindings).
#pragma once

#include "core/framework/framework.h"
#include "plugins/volumebinding_pools.h"

namespace berth {

enum class Provisioning {
  possible,
  impossible,  // the class has no provisioner, or does not allow this node
  no_space,  // the driver publishes capacities, and none for the node's topology is large enough; or its device's pool
             // has no room
};
// Error: the class no longer exists. `pools` knows the claim's class; `more`: bytes that the pod's other claims
// take in it; `is_selected`: for this node.
Result<Provisioning> can_provision(const Lister& lister, const PoolUse& pools, const Quantity& more,
                                   const PersistentVolumeClaim& claim, const Node& node, bool is_selected);
// The class is provisioned by the devices.
bool is_made_by_devices(const Lister& lister, const std::string& storage_class);

// The volume that the claim got from its provisioner; null: none yet. `asked`: the claim should name the node by now.
// Error: it will not get a volume for this node.
Result<std::shared_ptr<const PersistentVolume>> provisioned_volume(const Lister& lister, const std::string& claim_key,
                                                                   const Node& node, bool asked);

// The maximum volume size; nullopt: unknown.
const std::optional<Quantity>& volume_limit(const CsiStorageCapacity& capacity);

}  // namespace berth
