// Shape: a JSON text with a mark in the place of each of two texts that are one object's own, so that objects which are
// alike but for these have one shape between them (Text::common). fill_shape() gives the same bytes back.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// Where the texts lie within each other, `first` is looked for first. Empty ones are not looked for.
std::string shape_of(std::string_view text, std::string_view first, std::string_view second);
std::string fill_shape(std::string_view shape, std::string_view first, std::string_view second);

}  // namespace berth
