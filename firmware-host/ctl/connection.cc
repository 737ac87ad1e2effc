#include "firmware-host/ctl/connection.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/api/names.h"
#include "firmware-host/broker_address.h"
#include "firmware-host/config.h"

namespace berth {

namespace {

constexpr std::size_t kTextBytesMax = 4 << 20;  // as much as a manifest may have (firmware-host/yaml.h)
constexpr std::uint16_t kPort = 1883;
constexpr std::uint16_t kTlsPort = 8883;
// Written by the gateway's package for operators on the gateway's machine.
constexpr const char* kOperatorConfig = "/etc/berth/operator/berthctl.yaml";

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > 65535) return false;
  port = static_cast<std::uint16_t>(value);
  return true;
}

// Reads the files that the embedded broker of a local berthd writes for its clients.
Outcome<CtlSettings> from_state_dir(const ConnectionOptions& options) {
  CtlSettings settings;
  if (options.state_dir.empty() || !options.broker.empty()) return settings;
  const std::string folder = options.state_dir + "/broker";
  std::ifstream file(folder + "/local-port");
  std::string port;
  if (!file || !std::getline(file, port)) {
    return fail(Exit::unreachable, folder + "/local-port: missing; is berthd running with --state-dir " +
                                       options.state_dir + " and its embedded broker? Otherwise use --broker");
  }
  if (!parse_port(port, settings.broker.port))
    return fail(Exit::usage, folder + "/local-port: expected a port, got " + port);
  if (!options.identity.empty()) settings.identity = options.identity;
  settings.broker.username = options.username.empty() ? settings.identity : options.username;
  settings.broker.password_file = folder + "/password/" + settings.broker.username;
  return settings;
}

// The configuration file overrides the state directory.
Outcome<CtlSettings> configured(const ConnectionOptions& options) {
  Outcome<CtlSettings> settings = from_state_dir(options);
  const bool unset = options.config_file.empty() && options.state_dir.empty() && options.broker.empty();
  const bool enrolled = unset && ::access(kOperatorConfig, R_OK) == 0;
  const std::string file = enrolled ? kOperatorConfig : options.config_file;
  if (!settings || file.empty()) return settings;
  const Outcome<std::string> text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  Result<CtlSettings> parsed = parse_ctl_config(file, *text, std::move(*settings));
  if (!parsed) return fail(Exit::usage, lines_of(parsed.error()));
  return std::move(*parsed);
}

void set_if(std::string& to, const std::string& from) {
  if (!from.empty()) to = from;
}

}  // namespace

Outcome<std::string> read_text_file(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  Result<std::string> text = read_config_file(path, kTextBytesMax);
  if (!text) return fail(Exit::usage, text.error().message());
  return std::move(*text);
}

Outcome<Connection> resolve_connection(const ConnectionOptions& options) {
  Outcome<CtlSettings> settings = configured(options);
  if (!settings) return std::unexpected(std::move(settings.error()));
  BrokerSettings& broker = settings->broker;
  set_if(broker.username, options.username);
  set_if(broker.password_file, options.password_file);
  set_if(broker.ca_file, options.ca_file);
  set_if(broker.cert_file, options.cert_file);
  set_if(broker.key_file, options.key_file);
  set_if(settings->fleet, options.fleet);
  set_if(settings->gateway, options.gateway);
  set_if(settings->identity, options.identity.empty() ? options.username : options.identity);
  if (!options.broker.empty()) {
    broker.port = broker.ca_file.empty() ? kPort : kTlsPort;
    if (const Status parsed = parse_broker(options.broker, broker); !parsed.is_success()) {
      return fail(Exit::usage, "--broker: " + parsed.message());
    }
  }
  if (broker.cert_file.empty() != broker.key_file.empty()) {
    return fail(Exit::usage, "set --cert-file and --key-file together");
  }
  Connection connection{broker.host,       broker.port,        broker.username,      {},
                        broker.ca_file,    broker.cert_file,   broker.key_file,      settings->fleet,
                        settings->gateway, settings->identity, settings->namespace_, options.timeout_ms};
  if (!broker.password_file.empty()) {
    Outcome<std::string> text = read_text_file(broker.password_file);
    if (!text) return fail(Exit::usage, "password: " + text.error().text);
    connection.password = first_line(*text);
  }
  for (const auto& [name, value] : {std::pair{"--fleet", connection.fleet},
                                    {"--gateway", connection.gateway},
                                    {"--identity", connection.identity}}) {
    if (!is_valid_name(value)) {
      return fail(Exit::usage,
                  std::string(name) + ": invalid name \"" + value + "\": use lower-case letters, digits, '-' and '.'");
    }
  }
  return connection;
}

std::string lines_of(const Status& status) {
  std::string text;
  for (const std::string& reason : status.reasons()) text += (text.empty() ? "" : "\n") + reason;
  return text;
}

}  // namespace berth
