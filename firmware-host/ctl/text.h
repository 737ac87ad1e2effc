// Formats values for people. Control characters are escaped or replaced: text from a device must not control the
// terminal.
#pragma once

#include <string>
#include <string_view>

#include "core/json/json.h"
#include "firmware-host/ctl/options.h"

namespace berth {

// Indented JSON, ending in a newline.
std::string pretty_json(const Json& value);
// The object as shown by -o json or -o yaml.
std::string document(OutputForm form, const Json& object);
// The text with every control character replaced by '?'.
std::string printable(std::string_view text);
// The width of a UTF-8 text, one column per code point.
std::size_t columns_of(std::string_view text);

}  // namespace berth
