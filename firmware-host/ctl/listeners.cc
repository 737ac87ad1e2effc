#include "firmware-host/ctl/listeners.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "firmware-host/ctl/accounts.h"
#include "firmware-host/ctl/broker_site.h"
#include "firmware-host/gateway/broker_config.h"
#include "firmware-host/loopback_address.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kWrittenByUs = "# Written by berthctl";

std::string tls_listeners(const std::string& broker_dir, int port) {
  const std::string tls = broker_dir + "/tls";
  const auto listen = [&](int number, const std::string& credentials, int connections) {
    return "listener " + std::to_string(number) + "\ncertfile " + tls + "/server.crt\nkeyfile " + tls +
           "/server.key\nacl_file " + broker_dir + "/access\nmax_connections " + std::to_string(connections) + "\n" +
           credentials;
  };
  const auto certificates = [&](const std::string& authority) {
    return "cafile " + tls + "/" + authority + ".crt\ncrlfile " + tls + "/" + authority +
           ".crl\nrequire_certificate true\nuse_identity_as_username true\n";
  };
  const auto passwords = [&](const std::string& file) {
    return "allow_anonymous false\npassword_file " + broker_dir + "/" + file + "\n";
  };
  const std::string account_is_id = "use_username_as_clientid true\n";
  return std::string(kWrittenByUs) +
         " enroll. With a certificate, its common name is the account.\n"
         "# Devices and gateway: the account is the client id as well, so nobody can end another's session.\n" +
         listen(port, certificates("ca") + account_is_id, kBrokerDevicesMax) +
         "# Operators, by certificates of an authority of their own.\n" +
         listen(port + 1, certificates("operators"), kBrokerOperatorsMax) + "# Devices and gateway, by passwords.\n" +
         listen(port + 2, passwords("passwords") + account_is_id, kBrokerDevicesMax) + "# Operators, by passwords.\n" +
         listen(port + 3, passwords("operators"), kBrokerOperatorsMax);
}

std::string file_of(const EnrollOptions& options) { return options.mosquitto_dir + "/berth.tls.conf"; }

// Listeners have an ACL each. Together with the one for all of an edited berth.conf, mosquitto would not start.
bool is_per_listener(const EnrollOptions& options, const Screen& screen) {
  const std::string ours = options.mosquitto_dir + "/berth.conf";
  std::istringstream lines(content_of(ours));
  for (std::string line, key, value; std::getline(lines, line);) {
    if (std::istringstream(line) >> key >> value && key == "per_listener_settings" && value == "true") return true;
  }
  if (!fs::exists(ours)) return true;  // a broker that somebody else configures
  screen.err << "warning: " << ours << " lacks \"per_listener_settings true\", so " << file_of(options)
             << " was not written: merge the new " << ours << " of the package, then enroll again with --replace\n";
  return false;
}

Outcome<bool> write_listeners(const EnrollOptions& options, int port, const Screen& screen) {
  if (!is_per_listener(options, screen)) return false;
  for (const char* accounts : {"/passwords", "/operators"}) {  // mosquitto does not start without them
    const std::string path = options.broker_dir + accounts;
    if (fs::exists(path)) continue;
    if (const Status made = write_for_broker(path, ""); !made.is_success()) return fail(Exit::refused, made.message());
  }
  std::ofstream file(file_of(options));
  file << tls_listeners(fs::absolute(options.broker_dir), port);
  if (!file.flush()) return fail(Exit::refused, file_of(options) + ": cannot write file");
  return true;
}

}  // namespace

bool has_listeners(const EnrollOptions& options) { return fs::exists(file_of(options)); }

Outcome<bool> open_listeners(const EnrollOptions& options, int port, const Screen& screen) {
  std::error_code error;
  if (!fs::is_directory(options.mosquitto_dir, error)) return false;
  return has_listeners(options) ? update_listeners(options, screen) : write_listeners(options, port, screen);
}

Outcome<bool> update_listeners(const EnrollOptions& options, const Screen& screen) {
  const std::string present = content_of(file_of(options));
  const bool is_current = present.find("\ncrlfile ") != std::string::npos &&
                          present.find("/operators.crt\n") != std::string::npos &&
                          present.find("\npassword_file ") != std::string::npos;
  const int port = first_port_in(present);
  if (is_current || present.empty()) return false;
  if (present.starts_with(kWrittenByUs) && port > 0) return write_listeners(options, port, screen);
  screen.err
      << "warning: " << file_of(options)
      << " was not written by berthctl, and lacks \"crlfile\", the listener for operators or those for passwords: "
         "certificates that are revoked may stay valid, and passwords are not accepted over TLS. Move it away, "
         "then enroll again with --replace\n";
  return false;
}

void warn_of_plaintext(const EnrollOptions& options, const Screen& screen) {
  const std::string path = options.mosquitto_dir + "/berth.conf";
  std::istringstream lines(content_of(path));
  std::string plain;  // the listener that the line belongs to, unless it is on loopback or has TLS
  const auto warn = [&] {
    if (plain.empty()) return;
    screen.err << "warning: " << path << ": listener " << plain
               << " serves other machines without TLS, so passwords can be read on the way. Once every device has "
                  "files from a new enrolment, bind it to 127.0.0.1 and restart mosquitto\n";
  };
  for (std::string line; std::getline(lines, line);) {
    std::string key, port, address;
    std::istringstream(line) >> key >> port >> address;
    if (key == "certfile") plain.clear();
    if (key != "listener") continue;
    warn();
    plain = is_loopback(address) ? "" : port;
  }
  warn();
}

}  // namespace berth
