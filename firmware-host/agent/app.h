// berth-agent as a function: takes the command line, returns the exit code (exit_codes.h).
#pragma once

namespace berth {

int run_agent(int argc, const char* const* argv);

}  // namespace berth
