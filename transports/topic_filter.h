// MQTT topic filters (MQTT 5.0 §4.7): which topics a subscription matches.
#pragma once

#include <string_view>

namespace berth {

// True when `filter` has a wildcard level, + or #.
bool has_wildcard(std::string_view filter);
// `filter` must be valid. A wildcard at the first level does not match topics that begin with $.
bool filter_matches(std::string_view filter, std::string_view topic);

}  // namespace berth
