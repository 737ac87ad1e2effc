// The objects of a controller case as the product sees them.
#pragma once

#include <string_view>

#include "core/api/workload_meta.h"
#include "core/json/json.h"

namespace berth {

// Of a kind that no controller decodes, the metadata only. A manifest that cannot be decoded ends the program, with the
// reason.
ObjectPtr typed_object(std::string_view kind, const Json& object);

}  // namespace berth
