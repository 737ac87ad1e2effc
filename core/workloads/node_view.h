// What controllers see of a node: the effective Node of its device.
#pragma once

#include "core/controllers/controlled_node.h"
#include "core/objects/nodes.h"

namespace berth {

// Null: the device has said nothing yet. `silent_since`: milliseconds since 1970, for a device that does not answer.
ControlledNodePtr node_view(const std::string& name, const DeviceNode& device, Millis silent_since);
// Whether controllers would see no difference.
bool is_seen_alike(const ControlledNode& a, const ControlledNode& b);

}  // namespace berth
