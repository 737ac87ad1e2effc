#include "firmware-host/ctl/embedded.h"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <vector>

#include "firmware-host/ctl/accounts.h"
#include "firmware-host/ctl/ownership.h"
#include "firmware-host/gateway/broker_accounts.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/gateway/broker_tls.h"

namespace berth {

namespace {

namespace fs = std::filesystem;
using Role = BrokerIdentity::Role;

int number_in(const std::string& path) {
  const std::string text = read_line(path);
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// What root wrote is berthd's afterwards: the broker runs as its user, and drops privileges if that is root.
Status give_back(const std::string& state_dir, const std::string& broker_dir) {
  const Result<Owner> owner = owner_of(state_dir);
  if (!owner) return owner.error();
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(broker_dir, error), end; !error && at != end; at.increment(error)) {
    const bool is_directory = at->is_directory();
    if (!is_directory && !at->is_regular_file()) continue;
    fs::permissions(at->path(), is_directory ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_write,
                    error);
    files.push_back(at->path().lexically_relative(broker_dir).string());
  }
  if (error) return Status::error(broker_dir + ": " + error.message());
  return give_to(*owner, broker_dir, files);
}

}  // namespace

Outcome<void> settle_embedded(EnrollOptions& options) {
  options.broker_dir = options.state_dir + "/broker";
  options.mosquitto_dir.clear();
  const ServedFleet served = served_by(content_of(options.broker_dir + "/access"));
  if (served.fleet.empty()) {
    return fail(Exit::refused, options.broker_dir +
                                   ": no embedded broker has run here; start berthd once with "
                                   "--state-dir " +
                                   options.state_dir + " and without --broker");
  }
  options.fleet = served.fleet;
  options.gateway = served.gateway;
  const bool has_tls = number_in(options.broker_dir + "/certificate-port") != 0;
  const bool on_loopback = options.role == Role::operator_ || !has_tls;
  if (options.credential == Credential::certificate && on_loopback) {
    return fail(Exit::usage, options.role == Role::operator_
                                 ? "--certificate: operators use the embedded broker on this machine, with a password"
                                 : "--certificate: the embedded broker has no listener for certificates, because it "
                                   "listens on loopback only; set embedded_broker.listen, or use --password");
  }
  if (options.credential == Credential::unset) {
    options.credential = on_loopback ? Credential::password : Credential::certificate;
  }
  return {};
}

Outcome<BrokerSettings> embedded_listener(const EnrollOptions& options, const std::string& output) {
  BrokerSettings broker;
  const bool is_operator = options.role == Role::operator_;
  const bool has_certificate = options.credential == Credential::certificate;
  const std::string& dir = options.broker_dir;
  const char* file = is_operator ? "/local-port" : has_certificate ? "/certificate-port" : "/port";
  broker.port = static_cast<std::uint16_t>(number_in(dir + file));
  if (is_operator || (!has_certificate && number_in(dir + "/certificate-port") == 0)) return broker;
  broker.host.clear();
  if (!has_certificate && served_plaintext(content_of(dir + "/mosquitto.conf"))) return broker;
  broker.ca_file = output + "/ca.crt";
  std::error_code error;
  fs::copy_file(dir + "/tls/ca.crt", broker.ca_file, fs::copy_options::overwrite_existing, error);
  if (error) return fail(Exit::refused, broker.ca_file + ": " + error.message());
  return broker;
}

bool is_configured(const EnrollOptions& options) {
  return is_embedded(options) && fs::exists(options.broker_dir + "/password/" + options.name);
}

void reload_embedded(const EnrollOptions& options, bool restart, const Screen& screen) {
  if (::geteuid() == 0) {
    if (const Status given = give_back(options.state_dir, options.broker_dir); !given.is_success()) {
      screen.err << "warning: " << given.message() << "\n";
    }
  }
  // berthd starts it again.
  const int pid = number_in(options.broker_dir + "/pid");
  if (pid > 1) signal_marked(pid, options.broker_dir + "/mosquitto.conf", restart ? SIGTERM : SIGHUP);
}

}  // namespace berth
