#include "firmware-host/ctl/connection.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <system_error>

#include "core/api/objects.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

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

// "host", "host:port", "[v6]:port"; an address of IPv6 with a port needs its brackets.
bool parse_broker(const std::string& text, Connection& to) {
  std::string host = text;
  std::string port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string::npos) return false;
    host = text.substr(1, close - 1);
    if (close + 1 < text.size()) {
      if (text[close + 1] != ':') return false;
      port = text.substr(close + 2);
      if (port.empty()) return false;
    }
  } else if (const std::size_t colon = text.find(':'); colon != std::string::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return false;
  }
  if (host.empty()) return false;
  to.host = host;
  return port.empty() || parse_port(port, to.port);
}

// Fills what the command line left open.
Outcome<ConnectionOptions> with_config(ConnectionOptions options) {
  if (options.config_file.empty()) return options;
  const std::string& file = options.config_file;
  Outcome<std::string> text = read_text_file(file);
  if (!text) return std::unexpected(std::move(text.error()));
  const Result<YamlDocument> document = parse_yaml_config(file, *text);
  if (!document) return fail(Exit::usage, document.error().message());
  const std::map<std::string_view, std::string ConnectionOptions::*> known = {
      {"broker", &ConnectionOptions::broker},
      {"username", &ConnectionOptions::username},
      {"passwordFile", &ConnectionOptions::password_file},
      {"caFile", &ConnectionOptions::ca_file},
      {"certFile", &ConnectionOptions::cert_file},
      {"keyFile", &ConnectionOptions::key_file},
      {"fleet", &ConnectionOptions::fleet},
      {"gateway", &ConnectionOptions::gateway},
      {"identity", &ConnectionOptions::identity},
      {"stateDir", &ConnectionOptions::state_dir}};
  if (!document->value.is_object())
    return fail(Exit::usage, file + ": a mapping is wanted, such as \"broker: host:1883\"");
  for (const auto& [key, value] : document->value.as_object()) {
    const auto found = known.find(key);
    if (found == known.end()) {
      return fail(Exit::usage,
                  document->where(key) + ": " + key + ": unknown; berthctl --help lists what --config may have");
    }
    if (!value.is_string())
      return fail(Exit::usage, document->where(key) + ": " + key + ": a text is wanted; quote it");
    if ((options.*found->second).empty()) options.*found->second = value.as_string();
  }
  return options;
}

Outcome<Connection> with_state_dir(Connection connection, ConnectionOptions& options) {
  if (options.state_dir.empty() || !options.broker.empty()) return connection;
  const std::string folder = options.state_dir + "/broker";
  std::ifstream port_file(folder + "/port");
  std::string port;
  if (!port_file || !std::getline(port_file, port)) {
    return fail(Exit::unreachable, folder + "/port: not there; is berthd running with --state-dir " +
                                       options.state_dir + " and its own broker? Otherwise say --broker");
  }
  if (!parse_port(port, connection.port)) return fail(Exit::usage, folder + "/port: \"" + port + "\" is not a port");
  if (options.identity.empty()) options.identity = options.username.empty() ? "operator" : options.username;
  if (options.username.empty()) options.username = options.identity;
  if (options.password_file.empty()) options.password_file = folder + "/password/" + options.username;
  return connection;
}

}  // namespace

Outcome<std::string> read_text_file(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || file.bad()) {
    const std::string why = errno == 0 ? std::string("cannot be read") : std::generic_category().message(errno);
    return fail(Exit::usage, path + ": " + why);
  }
  return text;
}

Outcome<Connection> resolve_connection(const ConnectionOptions& given) {
  Outcome<ConnectionOptions> configured = with_config(given);
  if (!configured) return std::unexpected(std::move(configured.error()));
  ConnectionOptions& options = *configured;
  Outcome<Connection> connection = with_state_dir(Connection{}, options);
  if (!connection) return connection;

  if (!options.broker.empty() && !parse_broker(options.broker, *connection)) {
    return fail(Exit::usage, "--broker: \"" + options.broker + "\" is not HOST:PORT, such as 192.168.1.10:1883");
  }
  connection->username = options.username;
  connection->ca_file = options.ca_file;
  connection->cert_file = options.cert_file;
  connection->key_file = options.key_file;
  connection->timeout_ms = options.timeout_ms;
  if (options.cert_file.empty() != options.key_file.empty()) {
    return fail(Exit::usage, "--cert-file and --key-file go together");
  }
  if (!options.password_file.empty()) {
    Outcome<std::string> text = read_text_file(options.password_file);
    if (!text) return fail(Exit::usage, "password: " + text.error().text);
    connection->password = first_line(*text);
  }
  if (!options.fleet.empty()) connection->fleet = options.fleet;
  if (!options.gateway.empty()) connection->gateway = options.gateway;
  if (!options.identity.empty()) {
    connection->identity = options.identity;
  } else if (!options.username.empty()) {
    connection->identity = options.username;
  }
  for (const auto& [name, value] : {std::pair{"--fleet", connection->fleet},
                                    {"--gateway", connection->gateway},
                                    {"--identity", connection->identity}}) {
    if (!is_valid_name(value)) {
      return fail(Exit::usage,
                  std::string(name) + ": \"" + value + "\" is not a name: lower-case letters, digits, - and .");
    }
  }
  return connection;
}

}  // namespace berth
