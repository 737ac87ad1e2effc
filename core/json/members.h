// Members of objects that may be absent, or of another type: of texts that have been checked already.
#pragma once

#include <string_view>

#include "core/json/json.h"

namespace berth {

// Null when there is none.
inline const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  const Json* value = object.find(key);
  return value != nullptr ? *value : kNull;
}

// Empty when there is no such array.
inline const Json::Array& list_of(const Json& object, std::string_view key) {
  static const Json::Array kNone;
  const Json& value = member(object, key);
  return value.is_array() ? value.as_array() : kNone;
}

}  // namespace berth
