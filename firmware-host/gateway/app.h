// berthd as a function: from the command line to the exit code (exit_codes.h). A program with plugins of its own calls
// it with a registry that has them merged in.
#pragma once

#include "core/framework/framework.h"

namespace berth {

int run_gateway(int argc, const char* const* argv, const Registry& registry);

}  // namespace berth
