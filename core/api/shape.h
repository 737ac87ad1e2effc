// Shape: a JSON text in which two substrings that are unique to the object (its uid and name) are replaced by markers,
// so that otherwise equal objects share one interned shape (Text::common). fill_shape() restores the same bytes.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// `first` is replaced first, which matters if one contains the other. Empty strings are not replaced.
std::string shape_of(std::string_view text, std::string_view first, std::string_view second);
std::string fill_shape(std::string_view shape, std::string_view first, std::string_view second);

}  // namespace berth
