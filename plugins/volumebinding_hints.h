// Which changes of volume objects may make a pod fit that VolumeBinding rejected (volumebinding/volume_binding.go
// isSchedulableAfter...).
#pragma once

#include <vector>

#include "core/framework/events.h"

namespace berth {

std::vector<EventWithHint> volume_binding_events();

}  // namespace berth
