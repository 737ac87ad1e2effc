// Validates an object of any kind.
#pragma once

#include <string>

#include "core/api/decode.h"
#include "core/api/kind.h"

namespace berth {

// What decoding the object says. `warnings` may be null.
Status check_object(Kind kind, const Json& object, Warnings* warnings, Rules rules);

// The fields of an object that no decoder knows, joined as a text for people; empty: none.
std::string unknown_fields(Kind kind, const Json& object);

}  // namespace berth
