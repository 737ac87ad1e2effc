// Durations on the command line.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace berth {

// "90s", "5m", "1h30m": as kubectl's durations, of these units and ms, at most 366 days. None: it is no such text.
std::optional<Millis> parse_duration(const std::string& text);

}  // namespace berth
