#include "firmware-host/ctl/app.h"

#include <csignal>
#include <exception>
#include <utility>

#include "core/random.h"
#include "firmware-host/ctl/api_client.h"
#include "firmware-host/ctl/backup.h"
#include "firmware-host/ctl/broker_site.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/connection.h"
#include "firmware-host/ctl/embedded.h"
#include "firmware-host/ctl/enroll.h"
#include "firmware-host/ctl/events.h"
#include "firmware-host/ctl/options.h"
#include "firmware-host/ctl/revoke.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/loop.h"
#include "firmware-host/loopback_address.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/true_random.h"
#include "firmware-host/yaml.h"
#include "transports/mqtt.h"

namespace berth {

namespace {

using Command = CtlOptions::Command;

constexpr const char* kGatewayConfig = "/etc/berth/berthd.yaml";

// Keeps the last warning or error of the transport, to be shown only if the command fails.
class LastError final : public Log {
 public:
  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
    if (level != Level::warn && level != Level::error) return;
    text_ = event;
    for (const Field& each : fields) text_ += ", " + std::string(each.key) + " " + printable(each.value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

MqttOptions mqtt_options(const Connection& connection, const std::string& session, std::uint64_t seed) {
  MqttOptions options;
  options.host = connection.host;
  options.port = connection.port;
  options.client_id = "berthctl-" + connection.identity + "-" + session;
  options.username = connection.username;
  options.password = connection.password;
  options.tls = {connection.ca_file, connection.cert_file, connection.key_file};
  options.answer_timeout = connection.timeout_ms;
  options.backoff_min = 100;
  options.backoff_max = 1'000;
  options.seed = seed;
  return options;
}

Outcome<void> run_command(ApiClient& client, const CtlOptions& options, const Manifests& manifests,
                          const Screen& screen) {
  switch (options.command) {
    case Command::apply:
    case Command::create: return run_apply(client, options, manifests, screen);
    case Command::remove: return run_delete(client, options, manifests, screen);
    case Command::forget: return run_forget(client, options, screen);
    case Command::adopt: return run_adopt(client, options, screen);
    case Command::get: return run_get(client, options, screen);
    case Command::describe: return run_describe(client, options, screen);
    case Command::explain: return run_explain(client, options, screen);
    case Command::plan: return run_plan(client, options, manifests, screen);
    case Command::waiting: return run_waiting(client, options, screen);
    case Command::allow: return run_allow(client, options, screen);
    case Command::reject: return run_reject(client, options, screen);
    case Command::status: return run_status(client, options, screen);
    case Command::image_list: return run_image_list(client, options, screen);
    case Command::rollout_status: return run_rollout_status(client, options, screen);
    case Command::rollout_pause:
    case Command::rollout_resume: return run_rollout_pause(client, options, screen);
    case Command::cordon:
    case Command::uncordon: return run_cordon(client, options, screen);
    case Command::drain: return run_drain(client, options, screen);
    case Command::logs:
    case Command::exec:
    case Command::cp:
    case Command::port_forward:
    case Command::top:
    case Command::image_load:
    case Command::enroll:
    case Command::revoke:
    case Command::backup:
    case Command::restore:
    case Command::version: break;
  }
  return {};
}

// Checks everything that can be checked without the gateway.
Outcome<Manifests> check_locally(const CtlOptions& options, const Screen& screen) {
  if (!options.files.empty()) return load_manifests(options, screen);
  const bool is_other =
      options.command == Command::adopt || (options.command == Command::get && is_events(options.kind));
  if (!options.kind.empty() && !is_other) {
    if (const Outcome<const KindName*> kind = kind_named(options.kind); !kind) return std::unexpected(kind.error());
  }
  return Manifests{};
}

Outcome<void> run_connected(CtlOptions options, const Screen& screen) {
  const Outcome<Connection> connection = resolve_connection(options.connection);
  if (connection) options.configured_name_space = connection->name_space;
  // Errors in manifests are reported even if no gateway can be found.
  const Outcome<Manifests> manifests = check_locally(options, screen);
  if (!manifests) return std::unexpected(manifests.error());
  if (!connection) return std::unexpected(connection.error());

  if (connection->ca_file.empty() && !is_loopback(connection->host)) {
    screen.err << "warning: the connection to " << connection->broker()
               << " is not encrypted: passwords and manifests can be read and changed; use --ca-file\n";
  }

  const std::uint64_t seed = true_random();
  const std::string session = Random(seed).hex_id();
  RealClock clock;
  Timers timers;
  LastError log;
  // A command ends with the terminal that it was given in, unless nohup(1) says otherwise; the loop ignores SIGHUP.
  const auto hangup = std::signal(SIGHUP, SIG_DFL);
  EventLoop loop(clock, timers);
  std::signal(SIGHUP, hangup);
  MqttTransport transport(loop.context(), log, mqtt_options(*connection, session, seed));
  ApiClient::Engine engine{
      transport, clock, timers, [&loop] { (void)loop.run(); }, [&loop] { loop.stop(); }, [&log] { return log.text(); }};
  ApiClient::Address address{connection->fleet, connection->gateway,  connection->identity,
                             session,           connection->broker(), connection->timeout_ms};
  transport.start();
  Outcome<void> done;
  switch (options.command) {
    case Command::logs: done = run_logs(std::move(engine), std::move(address), options, screen); break;
    case Command::exec: done = run_exec(std::move(engine), std::move(address), loop.context(), options, screen); break;
    case Command::cp: done = run_cp(engine, address, loop.context(), options, screen); break;
    case Command::port_forward:
      done = run_port_forward(std::move(engine), std::move(address), loop.context(), options, screen);
      break;
    case Command::top: done = run_top(engine, address, options, screen); break;
    case Command::image_load:
      done = run_image_load(std::move(engine), std::move(address), loop.context(), options, screen);
      break;
    default: {
      ApiClient client(std::move(engine), std::move(address));
      done = run_command(client, options, *manifests, screen);
    }
  }
  transport.disconnect();
  return done;
}

// Devices answer only the gateway that they are enrolled for: by default the one of this machine.
Outcome<void> name_gateway(const ConnectionOptions& given, EnrollOptions& to) {
  const bool is_given = !given.config_file.empty();
  const std::string file = is_given ? given.config_file : kGatewayConfig;
  const Outcome<std::string> text = read_text_file(file);
  if (!text) return is_given ? Outcome<void>(std::unexpected(text.error())) : Outcome<void>();
  const Result<YamlDocument> config = parse_yaml_config(file, *text);
  if (!config) return fail(Exit::usage, lines_of(config.error()));
  if (const std::string fleet = config->value.string_at("fleet"); !fleet.empty()) to.fleet = fleet;
  if (const std::string gateway = config->value.string_at("gateway"); !gateway.empty()) to.gateway = gateway;
  return {};
}

Outcome<void> run(CtlOptions& options, const Screen& screen) {
  const ConnectionOptions& given = options.connection;
  if (options.command == Command::enroll) {
    if (Outcome<void> named = name_gateway(given, options.enroll); !named) return named;
  }
  options.enroll.state_dir = given.state_dir;
  const bool is_enrolment = options.command == Command::enroll || options.command == Command::revoke;
  if (is_enrolment && is_embedded(options.enroll)) {
    if (Outcome<void> settled = settle_embedded(options.enroll); !settled) return settled;
  } else if (options.enroll.mosquitto_dir.empty()) {
    options.enroll.mosquitto_dir = default_mosquitto_dir();
  }
  if (!given.fleet.empty()) options.enroll.fleet = options.backup.fleet = given.fleet;
  if (!given.gateway.empty()) options.enroll.gateway = given.gateway;
  if (!given.state_dir.empty()) options.backup.state_dir = given.state_dir;
  switch (options.command) {
    case Command::enroll: return run_enroll(options.enroll, screen);
    case Command::revoke: return run_revoke(options.enroll, screen);
    case Command::backup: return run_backup(options.backup, screen);
    case Command::restore: return run_restore(options.backup, screen);
    default: return run_connected(options, screen);
  }
}

int report(const Failure& failure, std::ostream& err) {
  if (failure.exit != Exit::interrupted) err << "berthctl: " << failure.text << "\n";
  return static_cast<int>(failure.exit);
}

int run_command_line(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CtlOptions options;
  if (const std::optional<int> ended = parse_options(argc, argv, options, out, err)) return *ended;
  if (options.command == Command::version) {
    out << "berthctl " << BERTH_VERSION << ", protocol berth/v1\n";
    return 0;
  }
  const Outcome<void> done = run(options, Screen{out, err});
  return done ? 0 : report(done.error(), err);
}

}  // namespace

int run_berthctl(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  int code = static_cast<int>(Exit::system);
  try {
    code = run_command_line(argc, argv, out, err);
  } catch (const std::exception& error) {
    return report({Exit::system, error.what()}, err);
  }
  out.flush();
  if (out || code != 0) return code;
  return report({Exit::system, "cannot write the output; is the disk full?"}, err);
}

}  // namespace berth
