// Retired nodes: devices that the operator has forgotten and that have not been cleared since (P9).
#pragma once

#include <string>

#include "core/objects/identity.h"
#include "core/objects/nodes.h"

namespace berth {

// `incarnation` empty: none is known yet.
bool is_retired(const Identity& identity, const std::string& node, const std::string& incarnation);
// With the incarnation that the node was last heard of with.
bool is_retired(const Identity& identity, const Nodes& nodes, const std::string& node);

}  // namespace berth
