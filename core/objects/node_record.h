// The stored form of a device node: the value of its record in Table::node.
#pragma once

#include <string>
#include <string_view>

#include "core/handshake/epoch.h"
#include "core/status.h"

namespace berth {

struct NodeRecord {
  std::string incarnation;
  Epoch term;               // DeviceNode::term
  std::string_view facts;   // JSON text; empty: never seen
  std::string_view packed;  // the Node that the facts alone make, as pack_node() gave it; empty: none
};

// False: the JSON of an earlier program.
bool is_node_record(std::string_view stored);
std::string encode(const NodeRecord& record);
// The views are into `stored`.
Result<NodeRecord> decode_node_record(std::string_view stored);

}  // namespace berth
