#include "firmware-host/gateway/broker_config.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/streams/frame.h"

namespace berth {

namespace {

bool is_level(std::string_view name) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  const auto outer = [&](char c) { return inner(c) && c != '.' && c != '-'; };
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), inner) && outer(name.front()) &&
         outer(name.back());
}

void allow(std::string& text, std::string_view access, const std::string& topic) {
  text.append("topic ").append(access).append(" ").append(topic).append("\n");
}

// No filter that a device may write to matches topics without end, except for statuses, which the gateway sweeps.
void allow_node(std::string& text, const std::string& root, const std::string& gateway, const std::string& node) {
  const std::string own = root + "nodes/" + node + "/";
  for (const char* topic : {"state", "presence", "heartbeat", "pods/+/+"}) allow(text, "readwrite", own + topic);
  allow(text, "read", own + "requests");
  allow(text, "write", root + "gateways/" + gateway + "/answers/" + node);
  allow(text, "read", root + "gateways/+/presence/+");
}

// What a device publishes may be retained, if it likes: so it may write to a few topics for each operator that there
// is, and to no others. A pattern counts for all accounts (mosquitto.conf(5), acl_file), with its own name for %u,
// those that were enrolled before this operator included; below its name an operator has no streams.
void allow_streams(std::string& text, const std::string& root, const std::string& name) {
  const std::string streams = root + "streams/%u/" + name + "/";
  const auto pattern = [&](std::string_view access, const std::string& below) {
    text.append("pattern ").append(access).append(" ").append(streams).append(below).append("\n");
  };
  pattern("read", "+/down");
  for (int slot = 0; slot < kStreamSlots; ++slot) pattern("write", std::to_string(slot) + "/up");
}

// What devices say, but not what they are asked: requests have the contents of Secrets.
void allow_operator(std::string& text, const std::string& root, const std::string& name) {
  for (const char* topic : {"status/#", "events/#", "nodes/+/state", "nodes/+/presence", "nodes/+/heartbeat",
                            "nodes/+/pods/+/+", "gateways/+/presence/+", "leader"})
    allow(text, "read", root + topic);
  allow(text, "readwrite", root + "desired/#");
  allow(text, "write", root + "gateways/+/api");
  allow(text, "read", root + "clients/" + name + "/#");
  allow(text, "read", root + "streams/+/" + name + "/+/up");
  allow(text, "write", root + "streams/+/" + name + "/+/down");
  allow_streams(text, root, name);
}

}  // namespace

std::string_view text_of(BrokerIdentity::Role role) {
  switch (role) {
    case BrokerIdentity::Role::gateway: return "gateway";
    case BrokerIdentity::Role::operator_: return "operator";
    case BrokerIdentity::Role::node: return "node";
  }
  return {};
}

Status check_identities(const std::vector<BrokerIdentity>& identities) {
  std::set<std::string> seen;
  for (const BrokerIdentity& identity : identities) {
    if (!is_level(identity.name)) {
      return Status::error("clients: invalid name '" + identity.name +
                           "': use at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a "
                           "letter or digit");
    }
    if (!seen.insert(identity.name).second) {
      return Status::error("clients: duplicate name '" + identity.name + "': names must be unique");
    }
    if (identity.password.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
      return Status::error("clients: the password of '" + identity.name + "' must be a single line");
    }
  }
  return Status::ok();
}

std::string broker_access(const std::string& fleet, const std::string& gateway,
                          const std::vector<BrokerIdentity>& identities) {
  const std::string root = "berth/v1/" + fleet + "/";
  std::string text;
  for (const BrokerIdentity& identity : identities) {
    text.append("user ").append(identity.name).append("\n");
    text.append(kRoleLine).append(text_of(identity.role)).append("\n");
    if (identity.is_enrolled) text.append(kEnrolledLine).append("\n");
    switch (identity.role) {
      case BrokerIdentity::Role::gateway: allow(text, "readwrite", root + "#"); break;
      case BrokerIdentity::Role::node: allow_node(text, root, gateway, identity.name); break;
      case BrokerIdentity::Role::operator_: allow_operator(text, root, identity.name); break;
    }
    text += "\n";
  }
  return text;
}

std::string broker_config(const BrokerListeners& listeners, const std::string& user, const BrokerFiles& files,
                          std::uint64_t memory_limit) {
  std::string text = "# Written by berthd at each start.\n";
  const auto set = [&text](std::string_view key, const std::string& value) {
    text.append(key).append(" ").append(value).append("\n");
  };
  set("per_listener_settings", "true");  // first: it decides what passwords and ACLs belong to
  const auto listen = [&](int port, const std::string& address, int connections) {
    set("listener", std::to_string(port) + " " + address);
    set("max_connections", std::to_string(connections));
    set("allow_anonymous", "false");
    set("acl_file", files.access);
  };
  const auto secure = [&] {
    set("certfile", files.tls + "/server.crt");
    set("keyfile", files.tls + "/server.key");
  };
  listen(listeners.port, listeners.listen, kBrokerDevicesMax);
  set("use_username_as_clientid", "true");
  set("password_file", files.passwords);
  if (!listeners.is_plaintext) secure();
  if (listeners.certificate_port != 0) {
    listen(listeners.certificate_port, listeners.listen, kBrokerDevicesMax);
    set("use_username_as_clientid", "true");
    secure();
    set("cafile", files.tls + "/ca.crt");
    set("crlfile", files.tls + "/ca.crl");
    set("require_certificate", "true");
    set("use_identity_as_username", "true");
  }
  listen(listeners.local_port, "127.0.0.1", kBrokerOperatorsMax);
  set("password_file", files.operators);
  set("user", user);
  // No persistence: retained messages and sessions only save time, correctness does not depend on them.
  set("persistence", "false");
  set("max_queued_messages", std::to_string(kBrokerQueuedMax));
  set("max_queued_bytes", std::to_string(memory_limit / 2));
  set("max_inflight_messages", "100");
  set("max_packet_size", std::to_string(64 * 1024 + 4096));  // payload, topic and properties
  set("memory_limit", std::to_string(memory_limit));
  set("persistent_client_expiration", "1d");
  set("set_tcp_nodelay", "true");
  set("sys_interval", "0");
  set("log_dest", "stderr");
  set("log_timestamp", "false");
  set("connection_messages", "false");
  for (const char* type : {"error", "warning", "notice"}) set("log_type", type);
  return text;
}

}  // namespace berth
