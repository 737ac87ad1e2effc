#include "firmware-host/ctl/listeners.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "firmware-host/ctl/accounts.h"
#include "firmware-host/gateway/broker_config.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kWrittenByUs = "# Written by berthctl";

std::string tls_listeners(const std::string& broker_dir, int port) {
  const std::string tls = broker_dir + "/tls";
  const auto listen = [&](int number, const std::string& authority) {
    return "listener " + std::to_string(number) + "\ncafile " + tls + "/" + authority + ".crt\ncertfile " + tls +
           "/server.crt\nkeyfile " + tls + "/server.key\nrequire_certificate true\nuse_identity_as_username true\n" +
           "crlfile " + tls + "/" + authority + ".crl\nacl_file " + broker_dir + "/access\n";
  };
  return "# Written by berthctl enroll --certificate: clients present a certificate; its common name is the account.\n"
         "# Devices and gateway: the account is the client id as well, so nobody can end another's session.\n" +
         listen(port, "ca") + "max_connections " + std::to_string(kBrokerDevicesMax) +
         "\nuse_username_as_clientid true\n"
         "# Operators, by certificates of an authority of their own.\n" +
         listen(port + 1, "operators") + "max_connections " + std::to_string(kBrokerOperatorsMax) + "\n";
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
             << " was not written: merge the new " << ours << " of the package, then enroll again\n";
  return false;
}

Outcome<bool> write_listeners(const EnrollOptions& options, int port, const Screen& screen) {
  if (!is_per_listener(options, screen)) return false;
  std::ofstream file(file_of(options));
  file << tls_listeners(fs::absolute(options.broker_dir), port);
  if (!file.flush()) return fail(Exit::refused, file_of(options) + ": cannot write file");
  return true;
}

// The first; 0: none.
int port_in(const std::string& text) {
  const std::string key = "\nlistener ";
  const std::size_t at = text.find(key);
  int port = 0;
  if (at != std::string::npos) {
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), port);
  }
  return port;
}

}  // namespace

Outcome<bool> open_listeners(const EnrollOptions& options, int port, const Screen& screen) {
  std::error_code error;
  if (!fs::is_directory(options.mosquitto_dir, error)) return false;
  return fs::exists(file_of(options)) ? update_listeners(options, screen) : write_listeners(options, port, screen);
}

Outcome<bool> update_listeners(const EnrollOptions& options, const Screen& screen) {
  const std::string present = content_of(file_of(options));
  const bool is_current =
      present.find("\ncrlfile ") != std::string::npos && present.find("/operators.crt\n") != std::string::npos;
  const int port = port_in(present);
  if (is_current || present.empty()) return false;
  if (present.starts_with(kWrittenByUs) && port > 0) return write_listeners(options, port, screen);
  screen.err << "warning: " << file_of(options)
             << " was not written by berthctl, and lacks \"crlfile\" or the listener for operators: certificates that "
                "are revoked stay valid. Move it away, then enroll again\n";
  return false;
}

}  // namespace berth
