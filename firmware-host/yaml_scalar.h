// The meaning of a plain YAML scalar: the core schema of YAML 1.2, and where older readers differ.
#pragma once

#include <string_view>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// null, a boolean, a number, or the text itself. A number beyond 2^53 becomes a string. The error has no position.
Result<Json> read_plain_scalar(std::string_view text);

// True if the text, written plain, is a string to every reader, including YAML 1.1 ones.
bool is_string_when_plain(std::string_view text);

}  // namespace berth
