// Reads quantities from the fields of a JSON object, with the conventions of FieldReader's read_ functions.
#pragma once

#include <string_view>

#include "core/api/quantity.h"
#include "core/json/field_reader.h"

namespace berth {

// A string or a number; a number is converted to its shortest decimal text.
bool read_quantity(FieldReader& reader, std::string_view key, Quantity& out);
// An object with quantity values, none negative.
bool read_quantities(FieldReader& reader, std::string_view key, ResourceList& out);

}  // namespace berth
