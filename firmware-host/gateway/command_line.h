// The settings of berthd: its command line, which overrides the configuration file that it names.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "firmware-host/config.h"

namespace berth {

struct GatewayCommandLine {
  std::optional<std::string> text;  // help or version: print it and exit with 0
  GatewaySettings settings;
  std::optional<std::string> sign;  // sign one request with the authority in this directory, and exit
  bool init = false;                // mark the state directory as new, and exit
  bool print_config = false;        // print the scheduler configuration and exit with 0
};
// An error can be printed as it is; it names the flag, or the file, line and field.
Result<GatewayCommandLine> read_gateway_command_line(int argc, const char* const* argv);

}  // namespace berth
