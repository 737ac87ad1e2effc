// Slices of the processor: how long a process may have it while others want it too. What a loop does for a message
// takes a fraction of a millisecond. Who asks for slices that short gets them at once (since Linux 6.12; no more of the
// processor in all), where it would wait for the end of another process's, which may be milliseconds away: on a machine
// that is busy with anything else, most of the time that a pod takes from request to start. Where the kernel refuses,
// or knows none of this, everything works as before.
#pragma once

#include <cstdint>

namespace berth {

inline constexpr std::uint64_t kShortSliceUs = 100;

// Of this process, and of those that it starts from now on.
void take_short_slices();
// What a process has that asked for nothing. May be called between vfork(2) and exec.
void take_usual_slices();

}  // namespace berth
