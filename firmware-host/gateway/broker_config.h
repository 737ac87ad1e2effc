// What berthd's own broker is told: who may log in, who may read and write which topics (handshake rules: a device
// writes only its own levels), and limits under which mosquitto loses nothing in silence.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

struct BrokerIdentity {
  enum class Role { gateway, node, operator_ };
  std::string name;  // user name and topic level
  Role role = Role::node;
  std::string password;  // empty: the one in the state directory, made up at first
};

struct BrokerFiles {
  std::string passwords;
  std::string access;
};

// Messages held for one slow or absent client; mosquitto drops more without a word. Its default, 1,000, loses the state
// of a fleet.
inline constexpr int kBrokerQueuedMax = 100'000;

// An error names the identity and the fix.
Status check_identities(const std::vector<BrokerIdentity>& identities);
// mosquitto's acl_file.
std::string broker_access(const std::string& fleet, const std::vector<BrokerIdentity>& identities);
// mosquitto.conf. `user`: whom a broker started by root goes on as.
std::string broker_config(const std::string& listen, int port, const std::string& user, const BrokerFiles& files);

}  // namespace berth
