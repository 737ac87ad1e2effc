// The changes that may make a pod fit after VolumeBinding rejected it (volumebinding/volume_binding.go
// isSchedulableAfter...).
#pragma once

#include <vector>

#include "core/framework/events.h"

namespace berth {

std::vector<EventWithHint> volume_binding_events();

}  // namespace berth
