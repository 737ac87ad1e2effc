// Which runtimes a device has: features that tell their names and versions, and that no pod asks for.
#pragma once

#include <string>

#include "core/clock.h"

namespace berth {

// "runtimes/crun-1.8.1", of what `program --version` says first that looks like a version: "crun version 1.8.1",
// "bubblewrap 0.8.0". Without the version where it says none within this time. `program`: its path.
std::string runtime_feature(const std::string& program, Millis patience_ms = 2000);

}  // namespace berth
