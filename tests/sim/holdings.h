// What nodes hold beside cpu and memory: host ports, devices, and the volumes that claims are bound to.
#pragma once

#include "tests/sim/invariants.h"

namespace berth::sim {

// No host port of a node is held by two of its charged slots.
Breach find_shared_port(const Witness& witness);
// Charged slots hold no more of an extended resource than the node has.
Breach find_device_overrun(const Witness& witness);
// No volume is two claims', and no claim has two volumes: in the objects, in the rows (a row in prebind reserves, later
// ones have bound), and in what runs.
Breach find_shared_volume(const Witness& witness);

}  // namespace berth::sim
