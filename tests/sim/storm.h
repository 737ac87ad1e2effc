// What the parts of the fault phase ("storm") share.
#pragma once

#include <functional>

#include "tests/sim/process.h"

namespace berth::sim {

// Repeats an action during the fault phase, at intervals of `mean` on average.
void repeatedly(SimEnvironment& world, Millis mean, std::function<void()> action);

// Does it once, `delay` from now.
void once(SimEnvironment& world, Millis delay, std::function<void()> action);

}  // namespace berth::sim
