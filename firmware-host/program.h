// What the mains of all programs have in common: output that cannot be written, and the last resort for an exception.
#pragma once

#include <functional>
#include <string>

namespace berth {

inline constexpr int kExitSystem = 71;  // a system error, as in sysexits.h

// Runs the program and returns its exit code. What nobody caught (no memory, no descriptors) is told on standard error
// and becomes kExitSystem: a core dump tells an operator nothing.
int run_guarded(const char* name, const std::function<int()>& run);

// Writes to standard output. Returns the exit code: 0, or kExitSystem after saying that it cannot be written.
int print(const char* name, const std::string& text);

}  // namespace berth
