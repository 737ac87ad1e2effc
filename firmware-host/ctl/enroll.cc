#include "firmware-host/ctl/enroll.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "core/api/names.h"
#include "firmware-host/broker_address.h"
#include "firmware-host/ctl/certificates.h"
#include "firmware-host/gateway/broker_config.h"
#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace {

namespace fs = std::filesystem;
using Role = BrokerIdentity::Role;

std::string local_host_name() {
  char name[256] = "localhost";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return name;
}

std::unexpected<Failure> failed(const Status& status) { return fail(Exit::refused, status.message()); }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string();
}

// The broker drops root privileges before it reads its files again, so its group needs access.
Status write_for_broker(const std::string& path, const std::string& text) {
  if (Status written = write_private_file(path, text); !written.is_success()) return written;
  const group* broker = ::getgrnam("mosquitto");
  if (broker == nullptr || ::geteuid() != 0) return Status::ok();
  std::error_code error;
  if (::chown(path.c_str(), 0, broker->gr_gid) == 0) {
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read, error);
  }
  return error ? Status::error(path + ": " + error.message()) : Status::ok();
}

// Operators have a listener of their own, whose clients choose their ids: a device must not be admitted there.
std::string password_file(const EnrollOptions& options) {
  return options.broker_dir + (options.role == Role::operator_ ? "/operators" : "/passwords");
}

// The role that the ACL names behind "user name"; empty: none, it is new or was enrolled by an earlier version.
std::string role_in(const std::string& access, const std::string& name) {
  const std::string begin = "user " + name + "\n" + std::string(kRoleLine);
  const std::size_t at = access.starts_with(begin) ? 0 : access.find("\n" + begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size() + (access.starts_with(begin) ? 0 : 1);
  return access.substr(from, access.find('\n', from) - from);
}

// Lines "name:hash"; replaces the line of this name.
std::string with_password(const std::string& text, const std::string& name, const std::string& line) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string present = text.substr(at, end - at);
    if (!present.empty() && !present.starts_with(name + ":")) result += present + "\n";
    at = end + 1;
  }
  return result + line + "\n";
}

// Blocks that begin with "user name" and end with an empty line; replaces the block of this name.
std::string with_access(const std::string& text, const std::string& name, const std::string& block) {
  std::string result;
  bool mine = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("user ")) mine = line == "user " + name;
    if (!mine) result += line + "\n";
    at = end + 1;
  }
  return result + block;
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
  Status written = write_for_broker(path, with_password(content_of(path), options.name, *line));
  if (written.is_success()) written = write_private_file(output + "/password", password + "\n");
  if (!written.is_success()) return failed(written);
  return {};
}

// The configuration file (YAML) of the device's or operator's program.
std::string client_config(const EnrollOptions& options, const BrokerSettings& broker, const std::string& dir) {
  std::string text = "# Written by berthctl enroll.\n";
  if (options.role == Role::node) text += "node: " + options.name + "\n";
  text += "fleet: " + options.fleet + "\n";
  text += "broker:\n  host: \"" + broker.host + "\"\n  port: " + std::to_string(broker.port) + "\n";
  if (options.certificate) {
    text += "  tls:\n    ca_file: " + dir + "/ca.crt\n    cert_file: " + dir + "/" + options.name +
            ".crt\n    key_file: " + dir + "/" + options.name + ".key\n";
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

// Creates the listeners for certificates if they do not exist; true if they are new.
Outcome<bool> open_listeners(const EnrollOptions& options, const BrokerSettings& broker) {
  std::error_code error;
  const std::string path = options.mosquitto_dir + "/berth.tls.conf";
  if (!options.certificate || !fs::is_directory(options.mosquitto_dir, error) || fs::exists(path)) return false;
  const int port = broker.port - (options.role == Role::operator_ ? 1 : 0);
  std::ofstream file(path);
  file << tls_listeners(fs::absolute(options.broker_dir), port);
  if (!file.flush()) return fail(Exit::refused, path + ": cannot write file");
  return true;
}

// If mosquitto is not running, it reads the files when it starts. New listeners need a restart.
void reload_broker(bool restart, const Screen& screen) {
  const Result<std::string> tool = find_program("systemctl");
  if (!tool || !run_program({*tool, "is-active", "--quiet", "mosquitto"}).is_success()) return;
  const std::string verb = restart ? "restart" : "reload";
  if (Status done = run_program({*tool, verb, "mosquitto"}); !done.is_success()) {
    screen.err << "cannot " << verb << " mosquitto: " << done.message() << "; run: systemctl " << verb
               << " mosquitto\n";
  }
}

void print_result(const EnrollOptions& options, const std::string& output, const Screen& screen) {
  screen.out << options.name << " enrolled; its files are in " << output << "\n";
  if (options.role != Role::node) return;
  screen.out << "On the device: copy them to " << options.installed_dir
             << " (owner root, mode 0600), then: systemctl restart berth-agent\n";
}

}  // namespace

Outcome<void> run_enroll(const EnrollOptions& options, const Screen& screen) {
  for (const auto& [what, value] :
       {std::pair{"NAME", options.name}, {"--fleet", options.fleet}, {"--gateway", options.gateway}}) {
    if (!is_valid_name(value)) {
      return fail(Exit::usage,
                  std::string(what) + ": invalid name \"" + value + "\": use lower-case letters, digits, '-' and '.'");
    }
  }
  BrokerSettings broker;
  broker.port = options.certificate ? 8883 : 1883;
  if (options.role == Role::operator_) ++broker.port;
  broker.host = local_host_name();
  if (!options.host.empty()) {
    if (Status parsed = parse_broker(options.host, broker); !parsed.is_success()) {
      return fail(Exit::usage, "--broker: " + parsed.message());
    }
  }
  const std::string access = options.broker_dir + "/access";
  const std::string role = role_in(content_of(access), options.name);
  if (!role.empty() && role != text_of(options.role)) {
    return fail(Exit::refused, options.name + " is enrolled as " + role + " already: choose another name");
  }
  const std::string output = fs::absolute(options.output.empty() ? options.name : options.output).lexically_normal();
  if (auto made = make_directories(options, output); !made) return made;
  const Outcome<void> credential = options.certificate
                                       ? issue_certificate(options.broker_dir + "/tls", options.name,
                                                           options.role == Role::operator_, broker.host, output)
                                       : set_password(options, output);
  if (!credential) return credential;
  const std::string block = broker_access(options.fleet, options.gateway, {{options.name, options.role, {}}});
  if (Status written = write_for_broker(access, with_access(content_of(access), options.name, block));
      !written.is_success()) {
    return failed(written);
  }
  if (auto written = write_client_files(options, broker, output); !written) return written;
  const Outcome<bool> listeners = open_listeners(options, broker);
  if (!listeners) return std::unexpected(listeners.error());
  if (options.reload) reload_broker(*listeners, screen);
  print_result(options, output, screen);
  return {};
}

}  // namespace berth
