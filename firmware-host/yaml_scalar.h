// What a plain scalar of YAML means: the core schema of YAML 1.2, and where older readers would differ.
#pragma once

#include <string_view>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// null, a boolean, a number, or the text itself. A number beyond 2^53 becomes a string. The error, without a place,
// says what the text may have been meant to be.
Result<Json> read_plain_scalar(std::string_view text);

// True when the text, written plain, would be a string to every reader, YAML 1.1 ones included.
bool is_string_when_plain(std::string_view text);

}  // namespace berth
