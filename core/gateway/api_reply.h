// What the answers of the api have in common.
#pragma once

#include <string>
#include <string_view>

#include "core/json/json.h"

namespace berth {

inline constexpr std::size_t kApiPageBytes = 48 * 1024;

Json api_failure(const std::string& error);
Json api_success();
// A member of a request that is a string; empty: none.
std::string api_text(const Json& request, std::string_view key);
// "<namespace>/<name>" of the pod that a request names.
std::string api_pod_key(const Json& request);

}  // namespace berth
