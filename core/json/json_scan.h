// What cJSON lets pass and Berth does not: a lexical check of a JSON text before cJSON builds the tree.
#pragma once

#include <string_view>

#include "core/json/json.h"

namespace berth {

// Checks size, nesting, strings (UTF-8, escapes, no control characters, no NUL), numbers (RFC 8259 syntax, at most 63
// characters, magnitude up to 2^53) and that nothing but JSON tokens stands between them. The order of the tokens is
// left to cJSON. The error starts with "line L column C: " (columns in bytes, from 1).
Status scan_json(std::string_view text, const Json::Limits& limits);

// How many bytes from `at` on stand in a JSON string as they are: ASCII without quotes, backslashes and controls.
std::size_t plain_length(std::string_view text, std::size_t at);

// "line L column C: " of a byte in the text.
std::string json_position(std::string_view text, std::size_t at);

}  // namespace berth
