#include <CLI/CLI.hpp>

#include <sstream>

#include "firmware-host/agent/exit_codes.h"
#include "firmware-host/agent/settings.h"
#include "firmware-host/broker_address.h"

namespace berth {

namespace {

// The flags as given; empty: not given.
struct Flags {
  std::string config, node, fleet, gateway, state_directory, broker, username, password_file, ca_file, cert_file,
      secret_directory, key_file, container_runtime, bwrap, log_level, log_format;
  std::vector<std::string> labels, taints, capacity, volumes;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "configuration file (YAML); flags override it")->type_name("FILE");
  app.add_option("--node", flags.node, "name of this node (default: the host name)")->type_name("NAME");
  app.add_option("--fleet", flags.fleet, "name of the fleet")->type_name("NAME");
  app.add_option("--gateway", flags.gateway, "accept requests of this gateway only (default: any of the fleet)")
      ->type_name("NAME");
  app.add_option("--state-dir", flags.state_directory, "directory of the store and the pods")->type_name("DIR");
  app.add_option("--secret-dir", flags.secret_directory, "directory of Secrets, on a tmpfs")->type_name("DIR");
  app.add_option("--broker", flags.broker, "MQTT broker")->type_name("HOST[:PORT]");
  app.add_option("--username", flags.username, "account at the broker")->type_name("NAME");
  app.add_option("--password-file", flags.password_file, "file with the password")->type_name("FILE");
  app.add_option("--ca-file", flags.ca_file, "certificate authority of the broker; enables TLS")->type_name("FILE");
  app.add_option("--cert-file", flags.cert_file, "certificate of this node")->type_name("FILE");
  app.add_option("--key-file", flags.key_file, "private key of this node")->type_name("FILE");
  app.add_option("--label", flags.labels, "label of this node; may be repeated")->type_name("KEY=VALUE");
  app.add_option("--taint", flags.taints, "taint of this node; may be repeated")->type_name("KEY=VALUE:EFFECT");
  app.add_option("--capacity", flags.capacity, "capacity of the node; may be repeated")->type_name("RESOURCE=QUANTITY");
  app.add_option("--volume", flags.volumes, "directory offered as a local volume; may be repeated")
      ->type_name("NAME=PATH:CAPACITY[:CLASS]");
  app.add_option("--container-runtime", flags.container_runtime,
                 "what runs pods with images: auto, none, or a program such as crun or runc")
      ->type_name("PROGRAM");
  app.add_option("--bwrap", flags.bwrap, "what gives pods without images mounts of their own: auto, none, or a program")
      ->type_name("PROGRAM");
  app.add_option("--log-level", flags.log_level, "debug, info, warn, error")->type_name("LEVEL");
  app.add_option("--log-format", flags.log_format, "text, json")->type_name("FORMAT");
  app.set_version_flag("--version", std::string("berth-agent ") + BERTH_VERSION);
  app.footer(std::string(kExitCodesText));
}

Status apply_lists(const Flags& flags, AgentConfig& agent) {
  for (const std::string& text : flags.labels) {
    const auto label = parse_label(text);
    if (!label) return label.error();
    agent.labels[label->first] = label->second;
  }
  for (const std::string& text : flags.taints) {
    const auto taint = parse_taint(text);
    if (!taint) return taint.error();
    agent.taints.push_back(*taint);
  }
  for (const std::string& text : flags.capacity) {
    const auto capacity = parse_capacity(text);
    if (!capacity) return capacity.error();
    agent.capacity[capacity->first] = capacity->second;
  }
  for (const std::string& text : flags.volumes) {
    const auto volume = parse_volume(text);
    if (!volume) return volume.error();
    std::erase_if(agent.volumes, [&](const LocalVolume& other) { return other.name == volume->name; });
    agent.volumes.push_back(*volume);
  }
  return Status::ok();
}

Status apply(const Flags& flags, AgentSettings& settings) {
  const auto set = [](std::string& to, const std::string& from) {
    if (!from.empty()) to = from;
  };
  set(settings.agent.node, flags.node);
  set(settings.agent.fleet, flags.fleet);
  set(settings.agent.gateway, flags.gateway);
  set(settings.state_directory, flags.state_directory);
  set(settings.containers.runtime, flags.container_runtime);
  set(settings.containers.bwrap, flags.bwrap);
  set(settings.secret_directory, flags.secret_directory);
  set(settings.broker.username, flags.username);
  set(settings.broker.password_file, flags.password_file);
  set(settings.broker.ca_file, flags.ca_file);
  set(settings.broker.cert_file, flags.cert_file);
  set(settings.broker.key_file, flags.key_file);
  if (!flags.ca_file.empty() && settings.broker.port == BrokerSettings().port) settings.broker.port = 8883;
  if (!flags.broker.empty()) {
    if (Status parsed = parse_broker(flags.broker, settings.broker); !parsed.is_success()) return parsed;
  }
  if (!flags.log_level.empty()) {
    const auto level = parse_level(flags.log_level);
    if (!level) return level.error();
    settings.log_level = *level;
  }
  if (!flags.log_format.empty()) {
    const auto format = parse_log_format(flags.log_format);
    if (!format) return format.error();
    settings.log_format = *format;
  }
  return apply_lists(flags, settings.agent);
}

}  // namespace

Result<CommandLine> read_command_line(int argc, const char* const* argv) {
  CLI::App app("The device side of Berth: reports this node and runs the pods that its gateway binds to it.",
               "berth-agent");
  Flags flags;
  declare(app, flags);
  CommandLine line;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    if (app.exit(error, out, err) != 0) return Status::error(err.str());
    line.text = out.str();
    return line;
  }
  line.settings = default_settings();
  if (!flags.config.empty()) {
    const Result<std::string> text = read_config_file(flags.config);
    if (!text) return text.error();
    Result<AgentSettings> settings = parse_agent_config(flags.config, *text, std::move(line.settings));
    if (!settings) return settings.error();
    line.settings = std::move(*settings);
  }
  if (Status applied = apply(flags, line.settings); !applied.is_success()) return applied;
  if (Status checked = check_settings(line.settings); !checked.is_success()) return checked;
  return line;
}

}  // namespace berth
