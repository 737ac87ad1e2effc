// berthctl as a library, called by main.
#pragma once

#include <ostream>

namespace berth {

// Runs one command; returns the exit code (firmware-host/ctl/outcome.h).
int run_berthctl(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace berth
