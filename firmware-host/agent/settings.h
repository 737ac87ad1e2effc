// AgentSettings: everything that berth-agent is told, from its configuration file and its command line.
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

// What this machine says of itself where nothing else is set: node name, cpu, memory, pods, state directory.
AgentSettings default_settings();
// What must hold before the agent starts; the error names the setting and the flag.
Status check_settings(const AgentSettings& settings);

// Forms of the command line. Errors quote the text and say the form.
Result<std::pair<std::string, std::string>> parse_label(const std::string& text);  // key=value
Result<Taint> parse_taint(const std::string& text);                                // key[=value]:Effect
Result<std::pair<std::string, Quantity>> parse_capacity(const std::string& text);  // resource=quantity
Result<LocalVolume> parse_volume(const std::string& text);                         // name=path:capacity[:class]

// Applies the command line over the configuration file it names. Asking for help or the version fills `text` only;
// an error is to be printed as it stands.
struct CommandLine {
  std::optional<std::string> text;  // to be printed; the program then ends with 0
  AgentSettings settings;
};
Result<CommandLine> read_command_line(int argc, const char* const* argv);

}  // namespace berth
