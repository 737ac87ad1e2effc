// POOLS: once all is at rest, no directory without a volume, and no volume without a directory.
#pragma once

#include <string>

#include "core/gateway/gateway.h"
#include "tests/sim/invariants.h"
#include "tests/sim/sim_device.h"

namespace berth::sim {

// `is_exact`: no store of the gateway was lost, nor a node forgotten: what a volume is to the gateway it has always
// been. Otherwise volumes may have come back, or have been given up with their nodes.
Breach find_pool_difference(const Gateway& gateway, const SimDevice& device, bool is_exact);

}  // namespace berth::sim
