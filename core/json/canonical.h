// JSON values compared and written without regard to the order of an object's members.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

bool is_same(const Json& a, const Json& b);

// Compact text with the members of each object ordered by name: equal for values that are the same.
std::string canonical_text(const Json& value);

}  // namespace berth
