#include "firmware-host/gateway/command_line.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <sstream>

#include "core/api/names.h"
#include "firmware-host/broker_address.h"
#include "firmware-host/gateway/exit_codes.h"

namespace berth {

namespace {

// The flags as given; empty: not given.
struct Flags {
  std::string config, fleet, gateway, state_dir, broker, username, password_file, ca_file, cert_file, key_file,
      log_level, log_format, scheduler_config, http;
  std::vector<std::string> known_nodes;
  std::uint64_t tie_seed = 0;
  bool print_config = false;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "configuration file (YAML); flags override it")->type_name("FILE");
  app.add_option("--scheduler-config", flags.scheduler_config,
                 "profiles, plugins and their arguments: YAML with the fields of KubeSchedulerConfiguration v1")
      ->type_name("FILE");
  app.add_flag("--print-config", flags.print_config, "print the completed scheduler configuration and exit");
  app.add_option("--fleet", flags.fleet, "name of the fleet (default: default)")->type_name("NAME");
  app.add_option("--gateway", flags.gateway, "name of this gateway (default: gateway)")->type_name("NAME");
  app.add_option("--state-dir", flags.state_dir, "directory of the store and of the embedded broker")->type_name("DIR");
  app.add_option("--broker", flags.broker, "MQTT broker (default: an embedded one, on a free loopback port)")
      ->type_name("HOST[:PORT]");
  app.add_option("--username", flags.username, "account at the broker")->type_name("NAME");
  app.add_option("--password-file", flags.password_file, "file with the password")->type_name("FILE");
  app.add_option("--ca-file", flags.ca_file, "certificate authority of the broker; enables TLS")->type_name("FILE");
  app.add_option("--cert-file", flags.cert_file, "certificate of this gateway")->type_name("FILE");
  app.add_option("--key-file", flags.key_file, "private key of this gateway")->type_name("FILE");
  app.add_option("--known-node", flags.known_nodes,
                 "node that must report before pods are placed, if the store was lost; may be repeated")
      ->type_name("NAME");
  app.add_option("--tie-seed", flags.tie_seed, "seed for choosing among equal nodes, to reproduce a run")
      ->type_name("NUMBER");
  app.add_option("--http", flags.http, "address of health and metrics (default: 127.0.0.1:10259, or a free port)")
      ->type_name("ADDRESS[:PORT]|off");
  app.add_option("--log-level", flags.log_level, "debug, info, warn, error")->type_name("LEVEL");
  app.add_option("--log-format", flags.log_format, "text, json")->type_name("FORMAT");
  app.set_version_flag("--version", std::string("berthd ") + BERTH_VERSION);
  app.footer(gateway_exit::kText);
}

void set(std::string& to, const std::string& from) {
  if (!from.empty()) to = from;
}

Status apply_broker(const Flags& flags, GatewaySettings& settings) {
  const bool is_external = settings.broker.has_value() || !flags.broker.empty();
  if (!is_external) {
    const bool stray = !flags.username.empty() || !flags.password_file.empty() || !flags.ca_file.empty() ||
                       !flags.cert_file.empty() || !flags.key_file.empty();
    if (stray) return Status::error("--username, --password-file and the TLS flags require --broker");
    return Status::ok();
  }
  if (!settings.broker) settings.broker.emplace();
  BrokerSettings& broker = *settings.broker;
  set(broker.username, flags.username);
  set(broker.password_file, flags.password_file);
  set(broker.ca_file, flags.ca_file);
  set(broker.cert_file, flags.cert_file);
  set(broker.key_file, flags.key_file);
  if (broker.cert_file.empty() != broker.key_file.empty()) {
    return Status::error("client certificate: set --cert-file and --key-file together");
  }
  if (flags.broker.empty()) return Status::ok();
  if (!broker.ca_file.empty()) broker.port = 8883;
  return parse_broker(flags.broker, broker);
}

Status apply_http(const Flags& flags, HttpSettings& http) {
  if (flags.http.empty()) return Status::ok();
  http.enabled = flags.http != "off";
  if (!http.enabled) return Status::ok();
  BrokerSettings address;
  address.port = 0;
  if (Status parsed = parse_broker(flags.http, address); !parsed.is_success()) return parsed;
  http.listen = address.host;
  if (address.port != 0) http.port = address.port;
  return Status::ok();
}

Status apply(const Flags& flags, GatewaySettings& settings) {
  set(settings.fleet, flags.fleet);
  set(settings.gateway, flags.gateway);
  set(settings.state_dir, flags.state_dir);
  set(settings.scheduler_config, flags.scheduler_config);
  for (const std::string& name : {settings.fleet, settings.gateway}) {
    if (!is_valid_name(name)) {
      return Status::error("--fleet, --gateway: invalid name \"" + name +
                           "\": use lower-case letters, digits, '-' and '.' only");
    }
  }
  settings.state_dir = std::filesystem::absolute(settings.state_dir).lexically_normal();
  if (!flags.known_nodes.empty()) settings.known_nodes = flags.known_nodes;
  if (flags.tie_seed != 0) settings.tie_seed = flags.tie_seed;
  if (!flags.log_level.empty()) {
    const auto level = parse_level(flags.log_level);
    if (!level) return level.error();
    settings.log.level = *level;
  }
  if (!flags.log_format.empty()) {
    const auto format = parse_log_format(flags.log_format);
    if (!format) return format.error();
    settings.log.format = *format;
  }
  if (Status applied = apply_http(flags, settings.http); !applied.is_success()) return applied;
  return apply_broker(flags, settings);
}

}  // namespace

Result<GatewayCommandLine> read_gateway_command_line(int argc, const char* const* argv) {
  CLI::App app("The scheduler of a Berth fleet: binds pods and their local volumes to device nodes.", "berthd");
  Flags flags;
  declare(app, flags);
  const CLI::App* init =
      app.add_subcommand(
             "init",
             "mark the state directory as that of a new installation, and exit: no device runs pods yet, so "
             "none is waited for")
          ->fallthrough();
  CLI::App* sign = app.add_subcommand(
      "sign", "sign one request of a device, from standard input, and exit: started by berth-signing.socket");
  std::string authority = "/etc/berth/broker/tls";
  sign->add_option("--authority-dir", authority, "directory of the authority")->type_name("DIR")->capture_default_str();
  GatewayCommandLine line;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    if (app.exit(error, out, err) != 0) return Status::error(err.str());
    line.text = out.str();
    return line;
  }
  if (sign->parsed()) {
    line.sign = authority;
    return line;
  }
  if (!flags.config.empty()) {
    Result<std::string> text = read_config_file(flags.config);
    if (!text) return text.error();
    Result<GatewaySettings> settings = parse_gateway_config(flags.config, *text);
    if (!settings) return settings.error();
    line.settings = std::move(*settings);
  }
  if (Status applied = apply(flags, line.settings); !applied.is_success()) return applied;
  line.init = init->parsed();
  line.print_config = flags.print_config;
  return line;
}

}  // namespace berth
