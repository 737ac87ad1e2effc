#include "firmware-host/gateway/broker_config.h"

#include <algorithm>
#include <set>
#include <string_view>

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

void allow_node(std::string& text, const std::string& root, const std::string& node) {
  const std::string own = root + "nodes/" + node + "/";
  for (const char* topic : {"state", "presence", "heartbeat", "pods/#"}) allow(text, "readwrite", own + topic);
  allow(text, "read", own + "requests");
  allow(text, "write", root + "gateways/+/answers/" + node);
  allow(text, "read", root + "gateways/+/presence");
}

void allow_operator(std::string& text, const std::string& root, const std::string& name) {
  for (const char* topic : {"status/#", "events/#", "nodes/#", "gateways/+/presence"})
    allow(text, "read", root + topic);
  allow(text, "readwrite", root + "desired/#");
  allow(text, "write", root + "gateways/+/api");
  allow(text, "read", root + "clients/" + name + "/#");
}

}  // namespace

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

std::string broker_access(const std::string& fleet, const std::vector<BrokerIdentity>& identities) {
  const std::string root = "berth/v1/" + fleet + "/";
  std::string text;
  for (const BrokerIdentity& identity : identities) {
    text += "user " + identity.name + "\n";
    switch (identity.role) {
      case BrokerIdentity::Role::gateway: allow(text, "readwrite", root + "#"); break;
      case BrokerIdentity::Role::node: allow_node(text, root, identity.name); break;
      case BrokerIdentity::Role::operator_: allow_operator(text, root, identity.name); break;
    }
    text += "\n";
  }
  return text;
}

std::string broker_config(const std::string& listen, int port, const std::string& user, const BrokerFiles& files) {
  std::string text = "# Written by berthd at each start.\n";
  const auto set = [&text](std::string_view key, const std::string& value) {
    text.append(key).append(" ").append(value).append("\n");
  };
  set("listener", std::to_string(port) + " " + listen);
  set("user", user);
  set("allow_anonymous", "false");
  set("password_file", files.passwords);
  set("acl_file", files.access);
  // No persistence: retained messages and sessions only save time, correctness does not depend on them.
  set("persistence", "false");
  set("max_queued_messages", std::to_string(kBrokerQueuedMax));
  set("max_inflight_messages", "100");
  set("max_packet_size", std::to_string(64 * 1024 + 4096));  // payload, topic and properties
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
