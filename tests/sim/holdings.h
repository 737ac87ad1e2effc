// Invariants about resources other than cpu and memory (host ports, extended resources, and volumes of claims), and
// about the node that a pod names.
#pragma once

#include "tests/sim/invariants.h"

namespace berth::sim {

// No two charged slots of a node use the same host port.
Breach find_shared_port(const Witness& witness);
// The charged slots of a node do not exceed its capacity of an extended resource.
Breach find_device_overrun(const Witness& witness);
// No volume belongs to two claims, and no claim has two volumes: in the objects, in the rows (which reserve volumes in
// prebind and have bound them later), and in the slots of running pods.
Breach find_shared_volume(const Witness& witness);
// A pod whose claim has a volume is placed on the node of that volume, whatever host names devices report.
Breach find_away_from_volume(const Witness& witness);
// A pod that names its node is placed there and nowhere else.
Breach find_away_from_named_node(const Witness& witness);
// What a lying device floods is bounded: the durable release-list entries for slots that it has made up, and the
// capacity that it offers.
Breach find_flood(const Witness& witness);

}  // namespace berth::sim
