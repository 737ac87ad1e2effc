// A plugin that declares nothing beside those of the default profile, to measure what it costs.
#pragma once

#include <string>

#include "core/framework/framework.h"

namespace berth::bench {

// `which`: "score", "normalized" (Score with normalize) or "filter" (one node in fifty is rejected); empty: none.
// False: there is no such plugin.
bool add_undeclared(const std::string& which, Registry& registry, Profile& profile);

}  // namespace berth::bench
