// The resources that a release-list entry still takes on its node, in stored form.
#pragma once

#include <string>
#include <string_view>

#include "core/cache/node_info.h"

namespace berth {

std::string encode_charge(const Resources& resources);
// Unknown text takes nothing: an entry must stay readable, since its epoch is needed.
Resources decode_charge(std::string_view text);

}  // namespace berth
