// The time zones that objects of this gateway may name.
#pragma once

#include "core/controllers/time_zones/time_zone.h"
#include "core/placement/options.h"

namespace berth {

// Without a database of them only UTC.
const TimeZoneFiles& known_time_zones(const GatewayOptions& options);

}  // namespace berth
