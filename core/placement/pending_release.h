// What a release-list entry still charges its node, in stored form.
#pragma once

#include <string>
#include <string_view>

#include "core/cache/node_info.h"

namespace berth {

std::string encode_charge(const Resources& resources);
// Unknown text charges nothing: an entry must stay readable for its epoch's sake.
Resources decode_charge(std::string_view text);

}  // namespace berth
