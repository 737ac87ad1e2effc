#include "firmware-host/config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/api/decode_parts.h"
#include "core/api/read_quantity.h"
#include "core/json/field_reader.h"
#include "firmware-host/yaml.h"

namespace berth {
namespace {

using decode::kNameForm;

constexpr std::int64_t kDayInSeconds = 24 * 3600;

bool is_not_empty(std::string_view text) { return !text.empty(); }
// A name or an address: nothing that means something in a certificate's list of names.
bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':';
  });
}
bool is_absolute(std::string_view text) { return text.starts_with('/'); }

void read_name(FieldReader& reader, std::string_view key, std::string& out) {
  reader.read_checked(key, out, is_valid_name, kNameForm);
}

void read_path(FieldReader& reader, std::string_view key, std::string& out) {
  reader.read_checked(key, out, is_not_empty, "the path of a file or directory");
}

void read_seconds(FieldReader& reader, std::string_view key, Millis& out, std::int64_t max = kDayInSeconds,
                  std::int64_t min = 1) {
  std::int64_t seconds = 0;
  if (reader.read_int64(key, seconds, min, max)) out = seconds * 1000;
}

bool read_port(FieldReader& reader, std::uint16_t& out, std::int32_t min, std::string_view key = "port") {
  std::int32_t port = 0;
  const bool given = reader.read_int32(key, port, min, std::numeric_limits<std::uint16_t>::max());
  if (given) out = static_cast<std::uint16_t>(port);
  return given;
}

void read_broker(FieldReader& reader, BrokerSettings& out) {
  reader.read_checked("host", out.host, is_not_empty, "a host name or address");
  const bool tls = reader.read_object("tls", [&](FieldReader& files) {
    if (files.require("ca_file", "the certificate authority of the broker")) read_path(files, "ca_file", out.ca_file);
    read_path(files, "cert_file", out.cert_file);
    read_path(files, "key_file", out.key_file);
    if (out.cert_file.empty() != out.key_file.empty()) {
      files.error(out.cert_file.empty() ? "cert_file" : "key_file", "missing; set cert_file and key_file together");
    }
  });
  if (!read_port(reader, out.port, 1) && tls) out.port = 8883;
  reader.read_string("username", out.username);
  read_path(reader, "password_file", out.password_file);
  if (!out.password_file.empty() && out.username.empty()) {
    reader.error("username", "missing; password_file requires a username");
  }
  std::int32_t keepalive = 0;
  if (reader.read_int32("keepalive_seconds", keepalive, 5, 3600)) out.keepalive_s = keepalive;
}

void read_log(FieldReader& reader, Level& level, LogFormat& format) {
  static constexpr std::array kLevels{EnumName<Level>{"debug", Level::debug}, EnumName<Level>{"info", Level::info},
                                      EnumName<Level>{"warn", Level::warn}, EnumName<Level>{"error", Level::error}};
  static constexpr std::array kFormats{EnumName<LogFormat>{"text", LogFormat::text},
                                       EnumName<LogFormat>{"json", LogFormat::json}};
  reader.read_enum("level", kLevels, level);
  reader.read_enum("format", kFormats, format);
}

void read_client(FieldReader& reader, const std::vector<ClientSettings>& before, ClientSettings& out) {
  using Role = ClientSettings::Role;
  static constexpr std::array kRoles{EnumName<Role>{"node", Role::node}, EnumName<Role>{"operator", Role::operator_}};
  if (reader.require("identity", kNameForm)) read_name(reader, "identity", out.identity);
  if (reader.require("role", "node or operator")) reader.read_enum("role", kRoles, out.role);
  reader.read_checked("password", out.password, is_not_empty, "a password");
  read_path(reader, "password_file", out.password_file);
  if (reader.has("password") && reader.has("password_file")) {
    reader.error("password_file", "set either this or password; with neither, a password is generated");
  }
  if (std::any_of(before.begin(), before.end(), [&](const auto& other) { return other.identity == out.identity; })) {
    reader.error("identity", "duplicate identity " + out.identity + "; identities must be unique");
  }
}

constexpr std::array kSameNames{EnumName<SameName>{"older", SameName::older},
                                EnumName<SameName>{"newer", SameName::newer}, EnumName<SameName>{"ask", SameName::ask}};

void read_known_nodes(FieldReader& reader, std::vector<std::string>& out) {
  reader.read_list("known_nodes", out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string path = item_path(reader.path_of("known_nodes"), i);
    if (!is_valid_name(out[i])) {
      reader.findings().error(path, "expected " + std::string(kNameForm) + ", got " + show_found(Json(out[i])));
    } else if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) !=
               out.begin() + static_cast<std::ptrdiff_t>(i)) {
      reader.findings().error(path, "duplicate node " + out[i] + "; list each node once");
    }
  }
}

// Bytes; false if the member is missing.
bool read_limit(FieldReader& reader, std::string_view key, std::uint64_t& out) {
  Quantity bytes;
  if (!read_quantity(reader, key, bytes)) return false;
  if (bytes < Quantity()) reader.error(key, "must be 0 (no limit) or more");
  out = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes.value(), 0));
  return true;
}

void read_node_limits(FieldReader& reader, NodeLimits& out) {
  for (const auto& [key, limit] : {std::pair{"cpu", &out.cpu}, {"memory", &out.memory}, {"pods", &out.pods}}) {
    if (read_quantity(reader, key, *limit) && *limit <= Quantity()) reader.error(key, "must be greater than 0");
  }
  for (const auto& [key, limit] : {std::pair{"volumes", &out.volumes},
                                   {"labels", &out.labels},
                                   {"slots", &out.slots},
                                   {"statuses", &out.statuses},
                                   {"status_bytes", &out.status_bytes},
                                   {"incarnations_per_hour", &out.incarnations_per_hour},
                                   {"takeovers_per_hour", &out.takeovers_per_hour}}) {
    std::int32_t count = 0;
    if (reader.read_int32(key, count, 1)) *limit = static_cast<std::size_t>(count);
  }
  read_seconds(reader, "twin_quiet_seconds", out.twin_quiet_ms, 86'400);
}

void read_embedded_broker(FieldReader& reader, EmbeddedBrokerSettings& out) {
  reader.read_checked("listen", out.listen, is_not_empty, "an address of this machine");
  read_port(reader, out.port, 0);
  read_port(reader, out.certificate_port, 0, "certificate_port");
  if (out.port != 0 && out.port == out.certificate_port) reader.error("certificate_port", "must not be that of port");
  reader.read_list("names", out.names);
  for (std::size_t i = 0; i < out.names.size(); ++i) {
    if (is_host(out.names[i])) continue;
    reader.findings().error(item_path(reader.path_of("names"), i),
                            "expected a host name or an address, got " + show_found(Json(out.names[i])));
  }
  bool plaintext = false;
  if (reader.read_bool("insecure_plaintext", plaintext)) out.insecure_plaintext = plaintext;
  read_path(reader, "state_dir", out.state_dir);
  read_limit(reader, "memory_limit_bytes", out.memory_limit_bytes);
}

void read_gateway(FieldReader& reader, GatewaySettings& out) {
  read_name(reader, "fleet", out.fleet);
  read_name(reader, "gateway", out.gateway);
  read_path(reader, "state_dir", out.state_dir);
  reader.read_object("broker", [&](FieldReader& broker) {
    BrokerSettings settings = out.broker.value_or(BrokerSettings{});
    broker.require("host", "a host name or address");
    read_broker(broker, settings);
    broker.read_checked("signing_socket", out.signing_socket, is_absolute, "the absolute path of a socket");
    out.broker = settings;
  });
  reader.read_object("embedded_broker",
                     [&](FieldReader& broker) { read_embedded_broker(broker, out.embedded_broker); });
  reader.read_each("clients", [&](FieldReader& item) {
    ClientSettings client;
    read_client(item, out.clients, client);
    out.clients.push_back(std::move(client));
  });
  if (reader.has("broker")) {
    for (const std::string_view key : {"embedded_broker", "clients"}) {
      if (reader.has(key)) reader.error(key, "applies to the embedded broker only; remove this or \"broker\"");
    }
  }
  read_known_nodes(reader, out.known_nodes);
  reader.read_enum("same_name", kSameNames, out.same_name);
  read_path(reader, "scheduler_config", out.scheduler_config);
  std::int64_t seed = 0;
  if (reader.read_int64("tie_seed", seed, 0)) out.tie_seed = static_cast<std::uint64_t>(seed);
  reader.read_object("http", [&](FieldReader& http) {
    http.read_bool("enabled", out.http.enabled);
    http.read_checked("listen", out.http.listen, is_not_empty, "an address of this machine");
    std::uint16_t port = 0;
    if (read_port(http, port, 0)) out.http.port = port;
  });
  reader.read_object("node_limits", [&](FieldReader& limits) { read_node_limits(limits, out.node_limits); });
  read_seconds(reader, "promise_limit_seconds", out.promise_limit_ms, 3600);
  read_seconds(reader, "takeover_after_seconds", out.takeover_after_ms, kDayInSeconds, 10);
  read_limit(reader, "flash_bytes_per_day", out.flash_bytes_per_day);
  if (std::uint64_t memory = 0; read_limit(reader, "memory_limit_bytes", memory)) out.memory_limit_bytes = memory;
  Quantity cache;
  if (read_quantity(reader, "scheduling_cache_bytes", cache)) {
    if (cache < Quantity()) reader.error("scheduling_cache_bytes", "must be 0 (one class of pods alone) or more");
    out.scheduling_cache_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(cache.value(), 0));
  }
  reader.read_object("log", [&](FieldReader& log) { read_log(log, out.log.level, out.log.format); });
}

void read_volume(FieldReader& reader, const std::vector<LocalVolume>& before, LocalVolume& out) {
  if (reader.require("name", kNameForm)) read_name(reader, "name", out.name);
  if (reader.require("path", "an absolute path"))
    reader.read_checked("path", out.path, is_absolute, "an absolute path");
  Quantity capacity;
  if (reader.require("capacity", "a quantity such as 10Gi") && read_quantity(reader, "capacity", capacity)) {
    if (capacity <= Quantity()) reader.error("capacity", "must be greater than 0, got " + capacity.to_text());
    out.capacity = capacity.to_text();
  }
  out.storage_class = "local";
  read_name(reader, "storage_class", out.storage_class);
  reader.read_bool("mount_point", out.mount_point);
  if (std::any_of(before.begin(), before.end(), [&](const auto& other) { return other.name == out.name; })) {
    reader.error("name", "duplicate volume " + out.name + "; names must be unique");
  }
}

constexpr std::string_view kPoolRootForm = "an absolute path without \"..\", and without '/' at its end";

void read_pool(FieldReader& reader, const std::vector<VolumePool>& before, VolumePool& out) {
  if (reader.require("class", kNameForm)) read_name(reader, "class", out.storage_class);
  if (reader.require("root", kPoolRootForm)) {
    reader.read_checked("root", out.root, is_pool_root, kPoolRootForm);
  }
  if (reader.require("capacity", "a quantity such as 10Gi") && read_quantity(reader, "capacity", out.capacity) &&
      out.capacity <= Quantity()) {
    reader.error("capacity", "must be greater than 0, got " + out.capacity.to_text());
  }
  for (const VolumePool& other : before) {
    if (other.storage_class == out.storage_class) {
      reader.error("class", "duplicate pool of class " + out.storage_class + "; give each pool a class of its own");
    }
    const auto is_below = [](const std::string& a, const std::string& b) { return (a + "/").starts_with(b + "/"); };
    if (is_below(out.root, other.root) || is_below(other.root, out.root)) {
      reader.error("root",
                   "is, contains or lies in " + other.root + ", the root of another pool; use another directory");
    }
  }
}

void read_pools(FieldReader& reader, AgentSettings& out) {
  static constexpr std::array kQuotas{EnumName<PoolQuota>{"auto", PoolQuota::automatic},
                                      EnumName<PoolQuota>{"required", PoolQuota::required},
                                      EnumName<PoolQuota>{"off", PoolQuota::off}};
  std::vector<VolumePool>& pools = out.agent.volume_pools;
  if (reader.has("volume_pools")) {
    pools.clear();
    out.pool_quotas.clear();
    out.pool_mount_points.clear();
  }
  reader.read_each("volume_pools", [&](FieldReader& item) {
    VolumePool pool;
    read_pool(item, pools, pool);
    bool is_mount_point = false;
    item.read_bool("mount_point", is_mount_point);
    if (is_mount_point) out.pool_mount_points.push_back(pool.root);
    pools.push_back(std::move(pool));
    item.read_enum("quota", kQuotas, out.pool_quotas.emplace_back(PoolQuota::automatic));
  });
  if (pools.size() > kMaxPools) {
    reader.error("volume_pools",
                 "expected at most " + std::to_string(kMaxPools) + " pools, got " + std::to_string(pools.size()));
  }
}

void read_secrets(FieldReader& reader, AgentSettings& out) {
  static constexpr std::array kSealed{EnumName<bool>{"auto", true}, EnumName<bool>{"off", false}};
  reader.read_enum("sealed", kSealed, out.seals_secrets);
}

void read_agent_lists(FieldReader& reader, AgentConfig& out) {
  Labels labels;
  decode::read_labels(reader, "labels", labels);
  for (auto& [key, value] : labels) out.labels[key] = value;
  if (reader.has("taints")) out.taints.clear();
  reader.read_each("taints", [&](FieldReader& item) {
    Taint taint;
    decode::read_taint(item, out.taints, taint);
    out.taints.push_back(std::move(taint));
  });
  ResourceList capacity;
  read_quantities(reader, "capacity", capacity);
  for (const auto& [name, quantity] : capacity) {
    if (!is_label_key(name)) {
      reader.findings().error(member_path(reader.path_of("capacity"), name),
                              "expected a resource name such as cpu, memory, pods or example.com/gpu");
    }
    out.capacity[name] = quantity;
  }
  if (reader.has("volumes")) out.volumes.clear();
  reader.read_each("volumes", [&](FieldReader& item) {
    LocalVolume volume;
    read_volume(item, out.volumes, volume);
    out.volumes.push_back(std::move(volume));
  });
}

void read_containers(FieldReader& reader, ContainerSettings& out) {
  reader.read_string("runtime", out.runtime);
  reader.read_string("skopeo", out.skopeo);
  reader.read_string("curl", out.curl);
  read_path(reader, "cni_config_dir", out.cni_config_dir);
  reader.read_list("cni_plugin_dirs", out.cni_plugin_dirs);
  read_path(reader, "resolv_conf", out.resolv_conf);
  read_path(reader, "seccomp_dir", out.seccomp_dir);
  reader.read_int64("pids_limit", out.pids_limit, 0, 4'194'304);  // PID_MAX_LIMIT
  reader.read_list("allowed_unsafe_sysctls", out.allowed_unsafe_sysctls);
  reader.read_int32("image_high_percent", out.image_high_percent, 1, 100);
  reader.read_int32("image_low_percent", out.image_low_percent, 0, 100);
  if (out.image_low_percent > out.image_high_percent) {
    reader.error("image_low_percent", "must not be above image_high_percent");
  }
  reader.read_list("insecure_registries", out.insecure_registries);
  reader.read_list("registry_mirrors", out.registry_mirrors);
  for (const std::string& mirror : out.registry_mirrors) {
    const std::size_t equals = mirror.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == mirror.size()) {
      reader.error("registry_mirrors",
                   "expected REGISTRY=HOST:PORT such as docker.io=gateway.lan:5000, got \"" + mirror + "\"");
    }
  }
  std::uint64_t per_day = 0;
  if (read_limit(reader, "image_bytes_per_day", per_day)) out.image_bytes_per_day = static_cast<std::int64_t>(per_day);
  read_path(reader, "auth_file", out.auth_file);
  reader.read_string("bwrap", out.bwrap);
}

// Below these sizes the longest lines would not fit.
void read_log_limits(FieldReader& reader, LogLimits& out) {
  constexpr std::uint64_t kFileBytesMin = 64 * 1024, kRateMin = 1024;
  if (read_limit(reader, "file_bytes", out.file_bytes) && out.file_bytes < kFileBytesMin) {
    reader.error("file_bytes", "must be 64Ki or more");
  }
  std::int32_t files = 0;
  if (reader.read_int32("files", files, 1, LogLimits::kFilesMax)) out.files = files;
  if (read_limit(reader, "bytes_per_second", out.bytes_per_second) && out.bytes_per_second != 0 &&
      out.bytes_per_second < kRateMin) {
    reader.error("bytes_per_second", "must be 0 (no limit), or 1Ki or more");
  }
}

void read_device_log_limits(FieldReader& reader, const LogLimits& of_containers, DeviceLogLimits& out) {
  reader.read_int32("kept_pods", out.kept_pods, 0, DeviceLogLimits::kKeptPodsMax);
  if (Quantity kept; read_quantity(reader, "kept_bytes", kept)) {
    if (kept < Quantity()) reader.error("kept_bytes", "must be 0 (nothing is kept) or more");
    out.kept_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(kept.value(), 0));
  }
  if (read_limit(reader, "total_bytes", out.total_bytes) && out.total_bytes != 0 &&
      out.total_bytes < of_containers.file_bytes) {
    reader.error("total_bytes",
                 "must be 0 (no limit), or file_bytes or more, which is " + std::to_string(of_containers.file_bytes));
  }
}

void read_agent(FieldReader& reader, AgentSettings& out) {
  read_name(reader, "fleet", out.agent.fleet);
  read_name(reader, "node", out.agent.node);
  read_name(reader, "gateway", out.agent.gateway);
  read_path(reader, "state_dir", out.state_directory);
  read_path(reader, "secret_dir", out.secret_directory);
  reader.read_object("secrets", [&](FieldReader& item) { read_secrets(item, out); });
  reader.read_object("broker", [&](FieldReader& broker) { read_broker(broker, out.broker); });
  read_agent_lists(reader, out.agent);
  read_pools(reader, out);
  reader.read_object("containers", [&](FieldReader& item) { read_containers(item, out.containers); });
  read_quantities(reader, "reserved", out.reserved);
  reader.read_object("eviction", [&](FieldReader& item) { read_eviction(item, out.eviction); });
  read_seconds(reader, "heartbeat_seconds", out.agent.heartbeat_ms, 3600);
  reader.read_object("logs", [&](FieldReader& logs) {
    read_log_limits(logs, out.logs);
    read_device_log_limits(logs, out.logs, out.device_logs);
  });
  reader.read_object("log", [&](FieldReader& log) { read_log(log, out.log_level, out.log_format); });
}

void read_ctl(FieldReader& reader, CtlSettings& out) {
  reader.read_object("broker", [&](FieldReader& broker) { read_broker(broker, out.broker); });
  read_name(reader, "fleet", out.fleet);
  read_name(reader, "gateway", out.gateway);
  read_name(reader, "identity", out.identity);
  read_name(reader, "namespace", out.namespace_);
}

// `keys`: where the keys are told that the file may have; null: nowhere.
template <class T>
Result<T> parse(std::string_view file, std::string_view text, T settings, void (*read)(FieldReader&, T&),
                std::vector<std::string>* keys = nullptr) {
  const Result<YamlDocument> document = parse_yaml_config(file, text);
  if (!document) return document.error();
  Findings findings(Findings::Unknown::refuse);
  if (keys != nullptr) findings.tell_keys(*keys);
  FieldReader reader(document->value, "", findings);
  read(reader, settings);
  reader.finish();
  const Status status = findings.status();
  if (status.is_success()) return settings;
  std::vector<std::string> reasons;
  for (const std::string& reason : status.reasons()) reasons.push_back(document->locate(reason));
  return Status(Code::error, std::move(reasons));
}

}  // namespace

int gateway_keepalive_s(const GatewaySettings& settings) {
  // Nothing is sent before a commit is on disk: a commit may take half of this (transports/README.md).
  constexpr Millis kDefault = 60;
  const auto fitting = static_cast<int>(std::min(kDefault, settings.takeover_after_ms / 2000));
  return settings.broker ? settings.broker->keepalive_s.value_or(fitting) : fitting;
}

Millis gateway_takeover_ms(const GatewaySettings& settings) {
  return std::max(settings.takeover_after_ms, Millis{2000} * gateway_keepalive_s(settings));
}

Result<GatewaySettings> parse_gateway_config(std::string_view file, std::string_view text, GatewaySettings settings) {
  return parse(file, text, std::move(settings), read_gateway);
}

Result<AgentSettings> parse_agent_config(std::string_view file, std::string_view text, AgentSettings settings) {
  return parse(file, text, std::move(settings), read_agent);
}

Result<CtlSettings> parse_ctl_config(std::string_view file, std::string_view text, CtlSettings settings) {
  return parse(file, text, std::move(settings), read_ctl);
}

std::vector<std::string> config_keys(Program program, std::string_view text) {
  std::vector<std::string> keys;
  switch (program) {
    case Program::gateway: static_cast<void>(parse("", text, GatewaySettings{}, read_gateway, &keys)); break;
    case Program::agent: static_cast<void>(parse("", text, AgentSettings{}, read_agent, &keys)); break;
    case Program::ctl: static_cast<void>(parse("", text, CtlSettings{}, read_ctl, &keys)); break;
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Result<std::string> read_config_file(const std::string& path, std::size_t bytes_max) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // In pieces: most files are small, and to clear as much memory as the largest may need takes milliseconds.
  std::string text;
  std::array<char, 4096> piece;
  while (file && text.size() <= bytes_max) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof())) {
    return Status::error(path + ": cannot read file: " + (errno == 0 ? "not a regular file" : std::strerror(errno)));
  }
  if (text.size() > bytes_max) return Status::error(path + ": larger than " + std::to_string(bytes_max) + " bytes");
  return text;
}

}  // namespace berth
