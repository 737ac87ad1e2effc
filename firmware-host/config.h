// The configuration files of the three programs: YAML with keys in snake_case; unknown keys are errors. Each parse_
// function overrides the values in `settings`, so a program passes its defaults in and applies its flags afterwards.
// Errors: one reason per fault, "<file>:<line>:<column>: <path>: expected X, got Y; fix".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/objects/node_limits.h"
#include "core/objects/same_name.h"
#include "core/status.h"
#include "firmware-host/container_settings.h"
#include "firmware-host/eviction_settings.h"
#include "firmware-host/log_limits.h"
#include "firmware-host/logging.h"
#include "firmware-host/pool_quota.h"

namespace berth {

// Address, account and TLS files of a broker.
//   broker: {host, port, username, password_file, keepalive_seconds, tls: {ca_file, cert_file, key_file}}
// `tls` without a port: port 8883.
struct BrokerSettings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 1883;
  std::string username;
  std::string password_file;  // its first line is the password
  std::string ca_file;        // set: TLS
  std::string cert_file;      // and key_file: both or neither
  std::string key_file;
  std::optional<int> keepalive_s;  // unset: the program's default
  bool operator==(const BrokerSettings&) const = default;
};

// log: {level: debug|info|warn|error, format: text|json}
struct LogSettings {
  Level level = Level::info;
  LogFormat format = LogFormat::text;
  bool operator==(const LogSettings&) const = default;
};

// One account of the embedded broker; its role determines what it may read and write (core/handshake/rules.md, Topics).
//   - {identity, role: node|operator, password | password_file}; with neither, berthd generates a password and writes
//     it to <state_dir>/broker/password/<identity>
struct ClientSettings {
  enum class Role { node, operator_ };
  std::string identity;  // for a node: the node's name
  Role role = Role::node;
  std::string password;       // or
  std::string password_file;  // a file whose first line is the password
  bool operator==(const ClientSettings&) const = default;
};

// embedded_broker: {listen, port, certificate_port, names, insecure_plaintext, state_dir, memory_limit_bytes}
struct EmbeddedBrokerSettings {
  std::string listen = "127.0.0.1";        // an address of this machine; 0.0.0.0: all. Beyond loopback: TLS
  std::uint16_t port = 0;                  // 0: any free port
  std::uint16_t certificate_port = 0;      // of devices with certificates, beyond loopback; 0: any free port
  std::vector<std::string> names;          // host names or addresses that the broker's certificate is valid for as well
  std::optional<bool> insecure_plaintext;  // `port` without TLS beyond loopback; unset: if it was so before TLS
  std::string state_dir;                   // empty: <state_dir>/broker
  std::uint64_t memory_limit_bytes = 0;    // of the broker's heap; 0: a quarter of the machine's memory
  bool operator==(const EmbeddedBrokerSettings&) const = default;
};

// http: {enabled, listen, port}: health, configuration and metrics.
struct HttpSettings {
  static constexpr std::uint16_t kDefaultPort = 10259;  // as kube-scheduler
  bool enabled = true;
  std::string listen = "127.0.0.1";   // an address of this machine; 0.0.0.0: all
  std::optional<std::uint16_t> port;  // 0: any free port; unset: the default port, or any free one if that is in use
  bool operator==(const HttpSettings&) const = default;
};

// node_limits: {cpu, memory, pods, volumes, labels, slots, statuses, status_bytes, incarnations_per_hour,
//               takeovers_per_hour, twin_quiet_seconds}: NodeLimits.
//
// berthd: fleet, gateway, state_dir, broker or embedded_broker, clients, known_nodes, same_name, scheduler_config,
// tie_seed, http, node_limits, promise_limit_seconds, takeover_after_seconds, flash_bytes_per_day, memory_limit_bytes,
// scheduling_cache_bytes, log.
struct GatewaySettings {
  std::string fleet = "default";
  std::string gateway = "gateway";
  std::string state_dir = "/var/lib/berth";
  std::optional<BrokerSettings> broker;  // unset: the embedded broker
  // broker.signing_socket: where devices' renewals are signed (gateway/signing.h), if it is there
  std::string signing_socket = "/run/berth-signing.sock";
  EmbeddedBrokerSettings embedded_broker;
  std::vector<ClientSettings> clients;   // of the embedded broker; identities are unique
  std::vector<std::string> known_nodes;  // must answer before adopt mode ends
  SameName same_name = SameName::older;  // after a lost store
  std::string scheduler_config;          // file of gateway/scheduler_config.h; empty: the default profile
  std::uint64_t tie_seed = 0;            // seed for choosing among equal nodes; 0: a new one at each start
  HttpSettings http;
  NodeLimits node_limits;
  Millis promise_limit_ms = 60000;
  Millis takeover_after_ms = 120'000;     // LeadershipOptions::takeover_ms
  std::uint64_t flash_bytes_per_day = 0;  // write budget of the store; 0: no limit
  // Resident memory at which new objects are refused; 0: no limit; unset: half of the machine's memory.
  std::optional<std::uint64_t> memory_limit_bytes;
  // Part of the resident memory: what is kept of classes of pods for later decisions; 0: of one class alone.
  std::uint64_t scheduling_cache_bytes = 16 << 20;
  LogSettings log;
  bool operator==(const GatewaySettings&) const = default;
};
// The gateway's keepalive, in seconds, and how long another gateway must be silent before this one takes over (P13). A
// broker ends a session that was silent for one and a half keepalives (MQTT 5.0, 3.1.2.10); what such a session has
// still to deliver must not arrive behind the first word of the one that took over. So without a keepalive in the
// settings it is at most half of takeover_after_seconds, and with one the takeover comes after two of them at the
// earliest.
int gateway_keepalive_s(const GatewaySettings& settings);
Millis gateway_takeover_ms(const GatewaySettings& settings);
Result<GatewaySettings> parse_gateway_config(std::string_view file, std::string_view text,
                                             GatewaySettings settings = {});

// berth-agent: fleet, node, gateway, state_dir, secret_dir, secrets: {sealed}, broker, labels, taints, capacity,
// reserved, volumes, volume_pools, eviction (eviction_settings.h), heartbeat_seconds, logs: {file_bytes, files,
// bytes_per_second, kept_pods, kept_bytes, total_bytes}, log.
struct AgentSettings {
  AgentConfig agent;
  std::vector<PoolQuota> pool_quotas;          // one for each of agent.volume_pools
  std::vector<std::string> pool_mount_points;  // roots of pools that count only while something is mounted there
  ContainerSettings containers;
  ResourceList reserved;  // of the node's capacity, for everything but pods: cpu, memory, ephemeral-storage
  EvictionSettings eviction;
  BrokerSettings broker;
  std::string state_directory;
  LogLimits logs;
  DeviceLogLimits device_logs;
  std::string secret_directory = "/run/berth-agent";  // of Secrets, if it is on a tmpfs
  bool seals_secrets = true;                          // where systemd-creds can
  Level log_level = Level::info;
  LogFormat log_format = LogFormat::text;
};
// labels and capacity are merged key by key; a list of taints or volumes replaces the previous one.
Result<AgentSettings> parse_agent_config(std::string_view file, std::string_view text, AgentSettings settings = {});

// berthctl: broker, fleet, gateway, identity, namespace.
struct CtlSettings {
  BrokerSettings broker;
  std::string fleet = "default";
  std::string gateway = "gateway";
  std::string identity = "operator";
  std::string namespace_ = "default";
  bool operator==(const CtlSettings&) const = default;
};
Result<CtlSettings> parse_ctl_config(std::string_view file, std::string_view text, CtlSettings settings = {});

// The keys that a file of each program may have, where `text` has the objects and lists that they are in:
// "broker.tls.ca_file", "clients[0].role". For configuration.md, which a test compares with them.
enum class Program { gateway, agent, ctl };
std::vector<std::string> config_keys(Program program, std::string_view text);

// Reads a text file of at most `bytes_max` bytes; the error names the file and the reason.
Result<std::string> read_config_file(const std::string& path, std::size_t bytes_max = 1 << 20);

}  // namespace berth
