// Configuration of berthd's embedded broker: accounts, ACLs (handshake rules: a device writes only below its own
// topics), and limits that keep mosquitto from dropping messages silently.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

struct BrokerIdentity {
  enum class Role { gateway, node, operator_ };
  std::string name;  // user name and topic level
  Role role = Role::node;
  std::string password;  // empty: the one in the state directory, generated at the first start
};

struct BrokerFiles {
  std::string passwords;
  std::string access;
};

// Messages queued for one slow or disconnected client; mosquitto silently drops more. Its default of 1,000 would lose
// the state of a fleet.
inline constexpr int kBrokerQueuedMax = 100'000;

// An error names the identity and the fix.
Status check_identities(const std::vector<BrokerIdentity>& identities);
// mosquitto's acl_file.
std::string broker_access(const std::string& fleet, const std::vector<BrokerIdentity>& identities);
// mosquitto.conf. `user`: the user that a broker started by root switches to.
std::string broker_config(const std::string& listen, int port, const std::string& user, const BrokerFiles& files);

}  // namespace berth
