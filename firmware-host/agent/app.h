// berth-agent as a function: from the command line to the exit code (exit_codes.h).
#pragma once

namespace berth {

int run_agent(int argc, const char* const* argv);

}  // namespace berth
