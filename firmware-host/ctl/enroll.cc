#include "firmware-host/ctl/enroll.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "core/api/names.h"
#include "firmware-host/broker_address.h"
#include "firmware-host/ctl/accounts.h"
#include "firmware-host/ctl/broker_site.h"
#include "firmware-host/ctl/certificates.h"
#include "firmware-host/ctl/embedded.h"
#include "firmware-host/ctl/listeners.h"
#include "firmware-host/ctl/revoke.h"
#include "firmware-host/gateway/broker_config.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/loopback_address.h"

namespace berth {

namespace {

namespace fs = std::filesystem;
using Role = BrokerIdentity::Role;

constexpr int kToPasswords = 2;  // from the listeners for certificates

std::string local_host_name() {
  char name[256] = "localhost";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return name;
}

std::unexpected<Failure> failed(const Status& status) { return fail(Exit::refused, status.message()); }

// Operators have a listener of their own, whose clients choose their ids: a device must not be admitted there.
std::string password_file(const EnrollOptions& options) {
  return options.broker_dir + (options.role == Role::operator_ ? "/operators" : "/passwords");
}

Outcome<std::string> hashed(const std::string& scratch, const std::string& name, const std::string& password) {
  const Result<std::string> hasher = find_program("mosquitto_passwd");
  if (!hasher) return fail(Exit::refused, hasher.error().message() + ": install the package mosquitto");
  if (Status written = write_private_file(scratch, name + ":" + password + "\n"); !written.is_success()) {
    return failed(written);
  }
  const Status ran = run_program({*hasher, "-U", scratch});
  std::string line = content_of(scratch);
  fs::remove(scratch);
  if (!ran.is_success()) return failed(ran);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

Outcome<void> set_password(const EnrollOptions& options, const std::string& output) {
  const std::string password = random_password();
  const std::string path = password_file(options);
  const Outcome<std::string> line = hashed(path + ".new", options.name, password);
  if (!line) return std::unexpected(line.error());
  Status written = write_for_broker(path, without_password(content_of(path), options.name) + *line + "\n");
  if (written.is_success()) written = write_private_file(output + "/password", password + "\n");
  if (!written.is_success()) return failed(written);
  return {};
}

// The configuration file (YAML) of the device's or operator's program.
std::string client_config(const EnrollOptions& options, const BrokerSettings& broker, const std::string& dir) {
  std::string text = "# Written by berthctl enroll.\n";
  if (options.role == Role::node) text += "node: " + options.name + "\n";
  text += "fleet: " + options.fleet + "\n";
  if (options.role == Role::node) text += "gateway: " + options.gateway + "\n";  // it takes requests of no other
  text += "broker:\n  host: \"" + broker.host + "\"\n  port: " + std::to_string(broker.port) + "\n";
  const bool has_certificate = options.credential == Credential::certificate;
  if (has_certificate || !broker.ca_file.empty()) text += "  tls:\n    ca_file: " + dir + "/ca.crt\n";
  if (has_certificate) {
    text += "    cert_file: " + dir + "/" + options.name + ".crt\n    key_file: " + dir + "/" + options.name + ".key\n";
  } else {
    text += "  username: " + options.name + "\n  password_file: " + dir + "/password\n";
  }
  if (options.role == Role::operator_) text += "identity: " + options.name + "\n";
  return text;
}

Outcome<void> write_client_files(const EnrollOptions& options, const BrokerSettings& broker,
                                 const std::string& output) {
  if (options.role == Role::gateway) return {};  // the gateway's configuration is not ours to write
  const bool node = options.role == Role::node;
  const std::string text = client_config(options, broker, node ? options.installed_dir : output);
  const std::string path = output + (node ? "/berth-agent.yaml" : "/berthctl.yaml");
  if (Status written = write_private_file(path, text); !written.is_success()) return failed(written);
  return {};
}

Outcome<void> make_directories(const EnrollOptions& options, const std::string& output) {
  for (const std::string& path : {options.broker_dir, output}) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return fail(Exit::refused, path + ": " + error.message() + "; run as root, or use another directory");
  }
  return {};
}

void print_result(const EnrollOptions& options, const std::string& output, const Screen& screen) {
  screen.out << options.name << " enrolled; its files are in " << output << "\n";
  if (options.role != Role::node) return;
  screen.out << "On the device: copy them to " << options.installed_dir
             << " (owner root, mode 0600), then: systemctl restart berth-agent\n";
}

// Before anything else changes: a device that is given an address verifies that the broker's certificate names it. The
// broker has that certificate at once, since what comes next may fail.
Outcome<void> name_broker(const EnrollOptions& options, const std::string& host, const Screen& screen) {
  const Outcome<bool> added = settle_address(options.broker_dir + "/tls", host);
  if (!added) return std::unexpected(added.error());
  if (*added) reload_broker(options, false, screen);
  return {};
}

// A new key and certificate, and nothing else changes: neither the account nor any session.
Outcome<void> renew_certificate(const EnrollOptions& options, const Screen& screen) {
  const std::string tls = options.broker_dir + "/tls";
  const bool is_operator = options.role == Role::operator_;
  if (!has_certificate(tls, options.name, is_operator)) {
    return fail(Exit::refused, options.name + " has no certificate that could be renewed: enroll it without --renew");
  }
  const std::string output = fs::absolute(options.output.empty() ? options.name : options.output).lexically_normal();
  if (auto made = make_directories(options, output); !made) return made;
  BrokerSettings broker;
  broker.host = local_host_name();
  if (!options.host.empty()) {
    static_cast<void>(parse_broker(options.host, broker));  // checked before
    if (auto named = name_broker(options, broker.host, screen); !named) return named;
  }
  if (auto issued = issue_certificate(tls, options.name, is_operator, broker.host, output); !issued) return issued;
  reload_broker(options, false, screen);
  screen.out << options.name << " has a new certificate: copy " << options.name << ".crt and " << options.name
             << ".key from " << output << (is_operator ? "\n" : " to the device, then: systemctl restart berth-agent\n")
             << "The earlier one stays valid until it expires, or " << options.name
             << " is enrolled again (--replace) or revoked\n";
  return {};
}

// Where the account connects to.
Outcome<BrokerSettings> address_of_broker(const EnrollOptions& options, const std::string& output) {
  BrokerSettings broker;
  if (is_embedded(options)) {
    const Outcome<BrokerSettings> listener = embedded_listener(options, output);
    if (!listener) return listener;
    broker = *listener;
    if (broker.host.empty()) broker.host = local_host_name();
  } else {
    broker.host = local_host_name();
    if (!options.host.empty()) static_cast<void>(parse_broker(options.host, broker));  // checked before
    const bool has_certificate = options.credential == Credential::certificate;
    const bool has_tls = has_certificate || !is_loopback(broker.host);
    if (has_tls) broker.ca_file = output + "/ca.crt";
    const BrokerSite site = broker_site(options);
    const int port = has_certificate ? site.tls_port : has_tls ? site.tls_port + kToPasswords : site.plain_port;
    broker.port = static_cast<std::uint16_t>(options.role == Role::operator_ ? port + 1 : port);
  }
  if (!options.host.empty()) static_cast<void>(parse_broker(options.host, broker));
  return broker;
}

Outcome<void> check_account(const EnrollOptions& options) {
  for (const auto& [what, value] :
       {std::pair{"NAME", options.name}, {"--fleet", options.fleet}, {"--gateway", options.gateway}}) {
    if (!is_valid_name(value)) {
      return fail(Exit::usage,
                  std::string(what) + ": invalid name \"" + value + "\": use lower-case letters, digits, '-' and '.'");
    }
  }
  const std::string role = role_in(content_of(options.broker_dir + "/access"), options.name);
  if (!role.empty() && role != text_of(options.role)) {
    return fail(Exit::refused, options.name + " is enrolled as " + role + " already: choose another name");
  }
  BrokerSettings address;
  if (const Status parsed = parse_broker(options.host, address); !options.host.empty() && !parsed.is_success()) {
    return fail(Exit::usage, "--address: " + parsed.message());
  }
  if (is_configured(options)) {
    return fail(Exit::refused, options.name +
                                   " has a password by berthd's configuration: remove it from clients there, "
                                   "restart berthd, then enroll it");
  }
  // Another device of that name would take over its pods, and the known one would be cut off.
  if (!role.empty() && !options.renew && !options.replace) {
    return fail(Exit::refused, options.name +
                                   " is enrolled already: --renew makes it another certificate and ends no session; "
                                   "--replace makes its certificate or password invalid; revoke takes it away");
  }
  return {};
}

Outcome<void> write_account(const EnrollOptions& options) {
  const std::string access = options.broker_dir + "/access";
  const std::string block = broker_access(options.fleet, options.gateway, {{options.name, options.role, {}, true}});
  const Status written = write_for_broker(access, without_access(content_of(access), options.name) + block);
  if (!written.is_success()) return failed(written);
  return {};
}

// Of the four listeners with TLS, which have consecutive ports, that of this account.
int tls_listener_of(const EnrollOptions& options) {
  return (options.credential == Credential::certificate ? 0 : kToPasswords) + (options.role == Role::operator_ ? 1 : 0);
}

// A port of --address names all four: mosquitto would not start with one that is not to be had. What it has already is
// its own.
Outcome<void> check_tls_ports(const EnrollOptions& options, const BrokerSettings& broker) {
  constexpr int kMore = 3;
  if (is_embedded(options) || broker.ca_file.empty()) return {};
  const BrokerSite site = broker_site(options);
  const int first = broker.port - tls_listener_of(options);
  const bool meets_plain = first <= site.plain_port + 1 && first + kMore >= site.plain_port;
  if (first >= 1 && first + kMore <= 65535 && !meets_plain) {
    const bool opens = options.reload && fs::is_directory(options.mosquitto_dir) && !has_listeners(options);
    const int taken = opens ? port_in_use(first, kMore + 1) : 0;
    if (taken == 0) return {};
    return fail(Exit::refused, "port " + std::to_string(taken) +
                                   " is in use, and the broker needs it for devices at other machines: free it, or "
                                   "name other ports, which all devices use, with --address HOST:PORT");
  }
  return fail(Exit::usage,
              "--address: port " + std::to_string(broker.port) +
                  " is not free for TLS, which devices at other machines need: give the host alone, or port " +
                  std::to_string(site.tls_port + tls_listener_of(options)));
}

// True: mosquitto needs a restart.
Outcome<bool> settle_listeners(const EnrollOptions& options, const BrokerSettings& broker, const Screen& screen) {
  if (is_embedded(options)) return false;
  warn_of_plaintext(options, screen);
  if (broker.ca_file.empty()) return false;
  return open_listeners(options, broker.port - tls_listener_of(options), screen);
}

Outcome<void> make_credential(const EnrollOptions& options, const BrokerSettings& broker, const std::string& output) {
  const std::string tls = options.broker_dir + "/tls";
  if (options.credential == Credential::certificate) {
    return issue_certificate(tls, options.name, options.role == Role::operator_, broker.host, output);
  }
  if (!is_embedded(options) && !broker.ca_file.empty()) {
    if (auto settled = settle_authorities(tls, broker.host, output); !settled) return settled;
  }
  return set_password(options, output);
}

}  // namespace

Outcome<void> run_enroll(const EnrollOptions& given, const Screen& screen) {
  EnrollOptions options = given;
  if (options.renew) {
    const std::string role = role_in(content_of(options.broker_dir + "/access"), options.name);
    for (const Role each : {Role::node, Role::operator_, Role::gateway}) {
      if (role == text_of(each)) options.role = each;
    }
  }
  if (options.credential == Credential::unset) {
    options.credential = options.role == Role::node ? Credential::certificate : Credential::password;
  }
  if (auto checked = check_account(options); !checked) return checked;
  if (options.renew) return renew_certificate(options, screen);
  const std::string output = fs::absolute(options.output.empty() ? options.name : options.output).lexically_normal();
  if (auto made = make_directories(options, output); !made) return made;
  const Outcome<BrokerSettings> broker = address_of_broker(options, output);
  if (!broker) return std::unexpected(broker.error());
  if (auto checked = check_tls_ports(options, *broker); !checked) return checked;
  if (!broker->ca_file.empty()) {
    if (auto named = name_broker(options, broker->host, screen); !named) return named;
  }
  const Outcome<Withdrawn> withdrawn = withdraw_credentials(options, screen);
  if (!withdrawn) return std::unexpected(withdrawn.error());
  if (auto made = make_credential(options, *broker, output); !made) return made;
  if (auto written = write_account(options); !written) return written;
  if (auto written = write_client_files(options, *broker, output); !written) return written;
  const Outcome<bool> listeners = settle_listeners(options, *broker, screen);
  if (!listeners) return std::unexpected(listeners.error());
  reload_broker(options, *listeners || withdrawn->certificates, screen);
  print_result(options, output, screen);
  return {};
}

}  // namespace berth
