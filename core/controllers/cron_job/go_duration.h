// Durations as Go programs read them: "1h30m", "1.5s", "-2m".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth {

// Go's time.ParseDuration in nanoseconds; none if it returns an error: a number without a unit (except "0"), an unknown
// unit, or more than 2^63 - 1 nanoseconds.
std::optional<std::int64_t> parse_go_duration(std::string_view text);

}  // namespace berth
