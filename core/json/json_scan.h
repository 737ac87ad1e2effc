// A lexical check of a JSON text before cJSON parses it: refuses what cJSON accepts and Berth does not.
#pragma once

#include <string_view>

#include "core/json/json.h"

namespace berth {

// Checks size, nesting, strings (UTF-8, escapes, no control characters, no NUL), numbers (RFC 8259 syntax, at most 63
// characters, magnitude up to 2^53) and that there is nothing but JSON tokens. The order of the tokens is checked by
// cJSON. The error starts with "line L column C: " (columns in bytes, from 1).
Status scan_json(std::string_view text, const Json::Limits& limits);

// The number of bytes from `at` on that need no escaping in a JSON string: ASCII without quotes, backslashes and
// controls.
std::size_t plain_length(std::string_view text, std::size_t at);

// "line L column C: " for the byte at `at`.
std::string json_position(std::string_view text, std::size_t at);

}  // namespace berth
