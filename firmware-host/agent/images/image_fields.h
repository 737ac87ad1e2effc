// What documents about images must have: fields read by FieldReader that are errors when they are absent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/json/field_reader.h"
#include "firmware-host/agent/images/image_reference.h"

namespace berth {

inline void require_checked(FieldReader& fields, std::string_view key, std::string& out,
                            bool (*valid)(std::string_view), std::string_view form) {
  if (fields.require(key, form)) fields.read_checked(key, out, valid, form);
}

inline void require_text(FieldReader& fields, std::string_view key, std::string& out) {
  const auto is_filled = [](std::string_view text) { return !text.empty(); };
  require_checked(fields, key, out, is_filled, "a string that is not empty");
}

inline void require_digest(FieldReader& fields, std::string_view key, std::string& out) {
  require_checked(fields, key, out, is_sha256_digest, "a sha256 digest");
}

// A number of bytes or of milliseconds.
inline void require_size(FieldReader& fields, std::string_view key, std::int64_t& out) {
  if (fields.require(key, "a number")) fields.read_int64(key, out, 0);
}

}  // namespace berth
