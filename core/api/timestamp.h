// Timestamps as Kubernetes writes them (apimachinery metav1.Time: RFC 3339).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// "2025-05-01T00:03:26Z", "2025-05-01T02:03:26.5+02:00" -> milliseconds since 1970, finer fractions truncated; none if
// invalid. Years 0000 to 9999; no leap seconds, as in Go's time package.
std::optional<std::int64_t> parse_timestamp(std::string_view text);
// Milliseconds since 1970 -> "2025-05-01T00:03:26Z", milliseconds left out. Not before 1970, nor after 9999.
std::string to_timestamp(std::int64_t milliseconds);
// The same as clocks show it that are `offset` seconds ahead of UTC: "2025-05-01T02:03:26+02:00"; "Z" if they are not.
std::string to_timestamp_in_zone(std::int64_t milliseconds, std::int32_t offset);

}  // namespace berth
