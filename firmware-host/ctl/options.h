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

// What to do about fields of manifests that no kind has.
enum class Validation { strict, warn, ignore };

// How to reach the gateway, as given on the command line; empty: not given.
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

enum class Credential { unset, password, certificate };

// The account to create at the broker of this machine (enroll.h).
struct EnrollOptions {
  std::string name;
  BrokerIdentity::Role role = BrokerIdentity::Role::node;
  std::string fleet = "default";
  std::string gateway = "gateway";               // the one whose requests a device answers
  std::string host;                              // of the broker, as the device reaches it: HOST[:PORT]
  std::string broker_dir = "/etc/berth/broker";  // `passwords`, `operators`, `access`; with certificates `tls`
  std::string output;                            // empty: ./<name>
  std::string installed_dir = "/etc/berth";      // path of the node's files on the device
  std::string mosquitto_dir;                     // for berth.tls.conf, written with the first use of TLS; broker_site.h
  std::string state_dir;                         // of a berthd with an embedded broker; empty: your own broker
  // Unset: a certificate for a device, where there is a listener for it; otherwise a password.
  Credential credential = Credential::unset;
  bool renew = false;    // another certificate; the earlier one stays valid
  bool replace = false;  // the name is enrolled already: its certificate or password becomes invalid
  bool reload = true;    // reload the running mosquitto
};

// The gateway's state directory as one file, or back (backup.h).
struct BackupOptions {
  std::string file;
  std::string state_dir = "/var/lib/berth";
  std::string fleet;    // told in the backup; empty: not told
  bool lists = false;   // backup: only show what the file holds
  bool forces = false;  // restore: set aside the store that the directory has
};

// What `logs` shows.
struct LogsOptions {
  std::string container;  // empty: the first one
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::uint64_t> tail;
  std::optional<Millis> since_ms;
};

// What `exec` runs.
struct ExecOptions {
  std::string container;  // empty: the first one
  bool input = false;
  bool terminal = false;
  std::vector<std::string> command;
};

// What `cp` copies: one of them is "[NAMESPACE/]POD:PATH".
struct CopyOptions {
  std::string from;
  std::string to;
  std::string container;  // empty: the first one
};

struct PortPair {
  int local = 0;  // 0: one that is free
  int remote = 0;
};

// What `port-forward` listens on.
struct ForwardOptions {
  std::vector<PortPair> ports;
  std::string address = "127.0.0.1";
};

// What `image load` sends.
struct ImageOptions {
  std::string file;  // "-": standard input
  std::string name;  // of the only image in it; empty: those that it says
};

// What `top` shows.
struct TopOptions {
  bool of_nodes = false;  // otherwise of pods
  bool containers = false;
};

// What `drain` may do away with; as kubectl's.
struct DrainOptions {
  bool ignores_daemon_sets = false;
  bool forces = false;              // pods without a controller too
  bool deletes_empty_dirs = false;  // pods whose emptyDir volumes go with them too
  Millis timeout_ms = 0;            // 0: none
};

struct CtlOptions {
  enum class Command {
    apply,
    create,
    get,
    describe,
    explain,
    plan,
    waiting,
    allow,
    reject,
    remove,
    forget,
    adopt,
    status,
    logs,
    exec,
    cp,
    port_forward,
    top,
    image_load,
    image_list,
    rollout_status,
    rollout_pause,
    rollout_resume,
    cordon,
    uncordon,
    drain,
    enroll,
    revoke,
    backup,
    restore,
    version
  };
  Command command = Command::version;
  ConnectionOptions connection;
  std::vector<std::string> files;  // apply, create, delete, plan: files and directories; "-": standard input
  bool recursive = false;          // with the directories below
  Validation validation = Validation::strict;
  bool recreate = false;
  bool dry_run = false;
  std::string propagation;  // delete: "Background", "Foreground" or "Orphan"; empty: not given
  std::string kind;
  std::string name;
  std::string name_space;  // empty: not given
  std::string configured_name_space = "default";
  bool all_namespaces = false;
  OutputForm form = OutputForm::table;
  bool watch = false;
  bool all_filters = false;  // explain, plan: run all filters
  std::string node;          // explain, plan: the node to list first; adopt: that runs the pod; empty: none
  std::string plugin;        // allow, reject: for this Permit plugin only; empty: all that hold the pod back
  std::string reason;        // reject
  LogsOptions logs;
  ExecOptions exec;
  CopyOptions copy;
  ForwardOptions forward;
  TopOptions top;
  ImageOptions image;
  DrainOptions drain;
  bool rollout_waits = true;  // rollout status: until it is done or has failed
  EnrollOptions enroll;
  BackupOptions backup;
};

// The namespace for objects without one.
inline const std::string& namespace_of(const CtlOptions& options) {
  return options.name_space.empty() ? options.configured_name_space : options.name_space;
}

// Reads the command line. Returns an exit code if the program must exit: after --help, or for an invalid command line,
// which is reported on `err`.
std::optional<int> parse_options(int argc, const char* const* argv, CtlOptions& options, std::ostream& out,
                                 std::ostream& err);

}  // namespace berth
