// What a device's report tells of a pod's containers beyond the one before, as the kubelet would in events.
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"

namespace berth {

// Names of the containers, init containers too, that have been restarted since `before`. Both: what a device reported,
// or null. Names that are none are left out.
std::vector<std::string> restarted_containers(const Json& before, const Json& now);

}  // namespace berth
