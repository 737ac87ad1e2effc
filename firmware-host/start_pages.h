// What only the start of a program needs of its files in memory.
#pragma once

#include <cstddef>
#include <string>

#include "core/clock.h"

namespace berth {

inline constexpr Millis kStartMs = 10'000;  // after that what a start needs is in memory for nothing

// Unmaps all pages of programs and libraries that this process has in memory as they are in their files; those in use
// come back by themselves, from the page cache. At a start the dynamic linker looks at the tables of each library, and
// the kernel maps 64 KiB around each look: a third of what an agent has resident, which it needs no more. Returns the
// bytes of the mappings that were looked at. `smaps`: as /proc/self/smaps.
std::size_t give_back_start_pages(const std::string& smaps = "/proc/self/smaps");

}  // namespace berth
