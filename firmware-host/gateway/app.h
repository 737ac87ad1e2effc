// berthd as a function: takes the command line, returns the exit code (exit_codes.h). A program with its own plugins
// calls it with a registry that includes them.
#pragma once

#include "core/framework/framework.h"

namespace berth {

int run_gateway(int argc, const char* const* argv, const Registry& registry);

}  // namespace berth
