// What a device says of its system: the node's status.nodeInfo (core/v1, NodeSystemInfo).
#pragma once

#include "core/json/json.h"

namespace berth {

// Of a state's member "nodeInfo": {"containerRuntimeVersion"}. Null: it says nothing. What else it has, and what is of
// the wrong type or longer than 128 bytes, is left out.
Json node_info_of(const Json* said);

}  // namespace berth
