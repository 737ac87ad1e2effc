// When a node may begin to fetch a new revision: download windows, by the clocks of its place.
#pragma once

#include <optional>
#include <vector>

#include "core/api/rollout_plan.h"
#include "core/clock.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

// Whether one of the windows is open at `now`, milliseconds since 1970; without any, it always is.
bool is_any_open(const std::vector<DownloadWindow>& windows, const TimeZone& zone, Millis now);
// When the next one opens after `now`; none: there are none.
std::optional<Millis> next_opening(const std::vector<DownloadWindow>& windows, const TimeZone& zone, Millis now);

}  // namespace berth
