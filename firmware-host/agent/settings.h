// AgentSettings: the settings of berth-agent, from its configuration file and its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/agent.h"
#include "core/status.h"
#include "firmware-host/config.h"

namespace berth {

// Defaults taken from the machine: node name, cpu, memory, pods, state directory.
AgentSettings default_settings();
// Validates the settings; the error names the setting and the flag.
Status check_settings(const AgentSettings& settings);

// Parse flag values. Errors quote the text and give the expected form.
Result<std::pair<std::string, std::string>> parse_label(const std::string& text);  // key=value
Result<Taint> parse_taint(const std::string& text);                                // key[=value]:Effect
Result<std::pair<std::string, Quantity>> parse_capacity(const std::string& text);  // resource=quantity
Result<LocalVolume> parse_volume(const std::string& text);                         // name=path:capacity[:class]

// Reads the command line, which overrides the configuration file that it names. --help and --version only set `text`;
// an error can be printed as it is.
struct CommandLine {
  std::optional<std::string> text;  // print it and exit with 0
  AgentSettings settings;
};
Result<CommandLine> read_command_line(int argc, const char* const* argv);

}  // namespace berth
