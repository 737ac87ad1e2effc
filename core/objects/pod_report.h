// The status that a device reports of a pod, as far as it is believed: a Kubernetes podStatus, of which the device may
// get a field wrong. What is right of it counts, and the rest is named.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

// Removes from the report what has the wrong type or value: of a list of containers the containers concerned. Returns
// the first fault, with its path; empty: none. Members of a later protocol are left as they are.
std::string remove_faults(Json& report);

}  // namespace berth
