// The command line of berthctl.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "firmware-host/gateway/broker_config.h"

namespace berth {

enum class OutputForm { table, wide, json, yaml };

// Where the gateway is, as said on the command line; empty: not said.
struct ConnectionOptions {
  std::string config_file;
  std::string state_dir;
  std::string broker;
  std::string username;
  std::string password_file;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string fleet;
  std::string gateway;
  std::string identity;
  Millis timeout_ms = 10'000;
};

// Who is given an account at the broker of this machine, and how (enroll.h).
struct EnrollOptions {
  std::string name;
  BrokerIdentity::Role role = BrokerIdentity::Role::node;
  std::string fleet = "default";
  std::string host;                                     // of the broker, as the device reaches it: HOST[:PORT]
  std::string broker_dir = "/etc/berth/broker";         // `passwords` and `access`; with certificates also `tls`
  std::string output;                                   // empty: ./<name>
  std::string installed_dir = "/etc/berth";             // where a node's files will lie on the device
  std::string mosquitto_dir = "/etc/mosquitto/conf.d";  // gets berth-tls.conf with the first certificate
  bool certificate = false;                             // instead of a password; an authority is made at first
  bool reload = true;                                   // tell the running mosquitto
};

struct CtlOptions {
  enum class Command {
    apply,
    get,
    describe,
    explain,
    plan,
    waiting,
    allow,
    reject,
    remove,
    forget,
    status,
    enroll,
    version
  };
  Command command = Command::version;
  ConnectionOptions connection;
  std::vector<std::string> files;  // apply, delete, plan; "-": standard input
  bool recreate = false;
  std::string kind;
  std::string name;
  std::string name_space;  // empty: not said
  std::string configured_name_space = "default";
  bool all_namespaces = false;
  OutputForm form = OutputForm::table;
  bool watch = false;
  bool all_filters = false;  // explain, plan: every filter's word
  std::string node;          // explain, plan: the node named first; empty: none
  std::string plugin;        // allow, reject: the Permit plugin that is spoken for; empty: all that hold the pod back
  std::string reason;        // reject
  EnrollOptions enroll;
};

// The namespace of what names none.
inline const std::string& namespace_of(const CtlOptions& options) {
  return options.name_space.empty() ? options.configured_name_space : options.name_space;
}

// Reads the command line. Returns the exit code when the program is to end at once: after --help, or after a wrong
// command line, which is told on `err`.
std::optional<int> parse_options(int argc, const char* const* argv, CtlOptions& options, std::ostream& out,
                                 std::ostream& err);

}  // namespace berth
