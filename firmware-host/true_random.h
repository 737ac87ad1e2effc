// Randomness from the kernel.
#pragma once

#include <cstdint>

namespace berth {

// From the kernel's random number generator; blocks only until it is seeded, in the first seconds after boot. Should it
// fail, which no supported kernel does for so few bytes, the time.
std::uint64_t true_random();

}  // namespace berth
