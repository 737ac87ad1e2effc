// What becomes of a plugin's status that is not valid at its extension point: an error that fails the attempt, in
// upstream's wording.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "core/text.h"

namespace berth {

// `doing` names the point and the plugin. An unexpected rejection still reports its reasons.
Status fault(const std::string& doing, const Text& plugin, const Status& status);
// "running <point> plugin "<plugin>"", for fault().
std::string running(std::string_view point, std::string_view plugin);
// Passes rejections on; any other status is an error.
Status rejected_or_fault(std::string_view point, const Text& plugin, Status status);

}  // namespace berth
