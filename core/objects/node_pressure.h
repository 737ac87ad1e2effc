// What a device is short of, as it says in its state: the node's conditions MemoryPressure, DiskPressure and
// PIDPressure, and the taints that follow (pkg/controller/nodelifecycle/node_lifecycle_controller.go,
// nodeConditionToTaintKeyStatusMap).
#pragma once

#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace berth {

// Of a state's member "conditions", those that hold and that a node may have: [{"type", "lastTransitionTime"}]. Null:
// there are none. What is of another type or form is left out.
Json pressures_of(const Json* conditions);

// Keys of the taints, all NoSchedule, of such a list; null: none.
std::vector<std::string_view> pressure_taints(const Json* pressures);

// As conditions of the node's status, those that do not hold too, with the kubelet's reasons and messages
// (pkg/kubelet/nodestatus/setters.go).
Json::Array pressure_conditions(const Json* pressures);

}  // namespace berth
