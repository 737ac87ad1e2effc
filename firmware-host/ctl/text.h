// Values as people read them. Control characters are escaped or replaced: what a device reports must not steer a
// terminal.
#pragma once

#include <string>
#include <string_view>

#include "core/json/json.h"
#include "firmware-host/ctl/options.h"

namespace berth {

// Indented JSON with a newline at the end.
std::string pretty_json(const Json& value);
// The object as -o json or -o yaml shows it.
std::string document(OutputForm form, const Json& object);
// The text with every control character replaced by '?'.
std::string printable(std::string_view text);
// How many columns a UTF-8 text takes, one for each code point.
std::size_t columns_of(std::string_view text);

}  // namespace berth
