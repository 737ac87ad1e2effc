// ControlledNode: what controllers see of a node.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/api/taint.h"
#include "core/api/workload_meta.h"

namespace berth {

struct NodeTaint : Taint {
  OptionalTime time_added;  // milliseconds since 1970
  bool operator==(const NodeTaint&) const = default;
};

struct ControlledNode : ControlledObject {
  static constexpr std::string_view kKind = "Node";
  ControlledNode() : ControlledObject(kKind) {}

  bool ready = false;     // condition Ready is True
  Conditions conditions;  // status.conditions
  bool unschedulable = false;
  std::vector<NodeTaint> taints;
  OptionalTime silent_since;  // since when the node has not answered, milliseconds since 1970; none: it answers
};
using ControlledNodePtr = std::shared_ptr<const ControlledNode>;

}  // namespace berth
