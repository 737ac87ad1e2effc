// What a device's report tells of a pod's containers beyond the one before, as the kubelet would in events.
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/mirror/event_recorder.h"

namespace berth {

struct Pod;

// Started, BackOff and Failed of containers, init containers too. `before`, `now`: what the device reported of this
// placement, or null. Containers whose names are none are left out.
std::vector<ObjectEvent> news_of(const Pod& pod, const std::string& node, const Json& before, const Json& now);

// Killing, of the containers that ran when the device said `observed`.
std::vector<ObjectEvent> news_of_stop(const Pod& pod, const std::string& node, const Json& observed);

// What the device tells of the pod itself (`events` of its report), but for what it has told before: `known`, of
// event_ids_of(). The first kEventsOfReport of a report count.
inline constexpr std::size_t kEventsOfReport = 16;
std::vector<ObjectEvent> device_news_of(const Pod& pod, const std::string& node, const Json& known, const Json& report);
// A list of their ids; null: it tells of none.
Json event_ids_of(const Json& report);

}  // namespace berth
