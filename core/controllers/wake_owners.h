// Whom a change of an owned object wakes: its controller, before and after the change, and when it has none, those that
// might adopt it (addPod, updatePod and deletePod of upstream's controllers).
#pragma once

#include <functional>
#include <string_view>

#include "core/controllers/controller.h"

namespace berth {

// `kind`: of the owners. `selects`: whether this owner's selector matches the object's labels, and is not empty.
void wake_owners(std::string_view kind, const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue,
                 const std::function<bool(const ControlledObject& owner, const ControlledObject& object)>& selects);

// The controlling owner of that kind; null when it has another one, none, or one that no longer exists.
ObjectPtr find_controller(std::string_view kind, const ControlledObject& object, const ClusterAccess& cluster);

}  // namespace berth
