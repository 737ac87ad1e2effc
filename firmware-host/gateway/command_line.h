// What berthd is told by its command line, over the configuration file that it names.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "firmware-host/config.h"

namespace berth {

struct GatewayCommandLine {
  std::optional<std::string> text;  // help or version, to be printed; the program then ends with 0
  GatewaySettings settings;
  bool print_config = false;  // the scheduler configuration is to be printed; the program then ends with 0
};
// An error is to be printed as it stands; it names the flag, or file, line and field.
Result<GatewayCommandLine> read_gateway_command_line(int argc, const char* const* argv);

}  // namespace berth
