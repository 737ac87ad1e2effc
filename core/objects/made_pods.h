// Which pods the gateway's own controllers have made, as opposed to those that operators applied: they are not
// mirrored, since their owners are and would make them again, and they go with their owners. A pod that an operator
// applies may name an owner that is not here.
#pragma once

#include "core/api/pod.h"
#include "core/json/json.h"

namespace berth {

// In the manifest: metadata.managedFields names who made it, as upstream's does for its controller manager.
void mark_made_here(Json& manifest);
bool is_made_here(const Pod& pod);
// An operator's manifest, such as one that was shown, does not make the pod one of a controller.
void drop_made_here(Json& manifest);

}  // namespace berth
