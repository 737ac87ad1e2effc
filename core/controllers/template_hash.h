// The hash that names what was made from a template: the label pod-template-hash, the ends of names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json/json.h"

namespace berth {

// Ten characters without vowels, so that they spell no word. Equal for equal content, whatever the order of members, on
// every machine and in every version. `collision_count`: after another object was found to have the name; none is not
// 0.
std::string template_hash(const Json& content, const std::optional<std::int32_t>& collision_count);

}  // namespace berth
