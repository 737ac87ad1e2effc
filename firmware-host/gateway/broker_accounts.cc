#include "firmware-host/gateway/broker_accounts.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::string_view kUser = "user ";

// Calls visit(line) for each line of the text, without its newline.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

bool read_role(std::string_view line, BrokerIdentity::Role& role) {
  using Role = BrokerIdentity::Role;
  if (!line.starts_with(kRoleLine)) return false;
  for (const Role each : {Role::gateway, Role::node, Role::operator_}) {
    if (line.substr(kRoleLine.size()) != text_of(each)) continue;
    role = each;
    return true;
  }
  return false;
}

}  // namespace

std::vector<BrokerIdentity> enrolled_in(std::string_view access) {
  std::vector<BrokerIdentity> found;
  BrokerIdentity current;
  each_line(access, [&](std::string_view line) {
    if (line.starts_with(kUser))
      current = {std::string(line.substr(kUser.size())), BrokerIdentity::Role::node, {}, true};
    read_role(line, current.role);
    if (line == kEnrolledLine && !current.name.empty()) found.push_back(current);
  });
  return found;
}

ServedFleet served_by(std::string_view access) {
  constexpr std::string_view kTopic = "topic readwrite berth/v1/";
  ServedFleet served;
  std::string name;
  bool is_gateway = false;
  each_line(access, [&](std::string_view line) {
    BrokerIdentity::Role role{};
    if (line.starts_with(kUser)) {
      name = line.substr(kUser.size());
      is_gateway = false;
    } else if (read_role(line, role)) {
      is_gateway = role == BrokerIdentity::Role::gateway;
    } else if (is_gateway && line.starts_with(kTopic) && line.ends_with("/#")) {
      served = {std::string(line.substr(kTopic.size(), line.size() - kTopic.size() - 2)), name};
    }
  });
  return served;
}

std::string password_line(std::string_view passwords, std::string_view name) {
  std::string found;
  each_line(passwords, [&](std::string_view line) {
    if (line.starts_with(std::string(name) + ":")) found = std::string(line) + "\n";
  });
  return found;
}

}  // namespace berth
