// Where nodes are, by their labels.
#pragma once

#include <string>

#include "core/api/metadata.h"

namespace berth {

// Region and zone in one key; empty: the node has neither (component-helpers node/topology GetZoneKey).
std::string zone_key(const Labels& labels);

}  // namespace berth
