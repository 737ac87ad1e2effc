// MQTT topic filters (MQTT 5.0 §4.7): which topics a subscription sees.
#pragma once

#include <string_view>

namespace berth {

// True when `filter` has a wildcard level, + or #.
bool has_wildcard(std::string_view filter);
// `filter` is taken to be valid. Topics that begin with $ are not matched by a wildcard at the first level.
bool filter_matches(std::string_view filter, std::string_view topic);

}  // namespace berth
