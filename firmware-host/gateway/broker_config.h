// Configuration of berthd's embedded broker: accounts, ACLs (handshake rules: a device writes only below its own
// topics), and limits: high enough that mosquitto does not drop messages silently, low enough that no device fills the
// machine's memory.
//
// Devices have a listener of their own, on which the account's name is the client id, whatever a client says: a second
// session of a client id ends the first, so with one listener each device could end everybody's session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace berth {

struct BrokerIdentity {
  enum class Role { gateway, node, operator_ };
  std::string name;  // user name and topic level
  Role role = Role::node;
  std::string password;      // empty: the one in the state directory, generated at the first start
  bool is_enrolled = false;  // by berthctl, so it is in no configuration; it may have no password
};

// "gateway", "node" or "operator".
std::string_view text_of(BrokerIdentity::Role role);
// A comment of the ACL, behind each "user NAME": the role follows.
inline constexpr std::string_view kRoleLine = "# ";
// Another comment, of accounts that berthctl enrolled.
inline constexpr std::string_view kEnrolledLine = "# enrolled";

struct BrokerFiles {
  std::string passwords;  // of devices
  std::string operators;  // passwords of gateway and operators
  std::string access;
  std::string tls;  // directory of ca.crt, ca.crl, server.crt and server.key
};

struct BrokerListeners {
  std::string listen;        // address for devices
  int port = 0;              // devices with passwords
  bool is_plaintext = true;  // that port; otherwise TLS
  int certificate_port = 0;  // devices with certificates, TLS; 0: none
  int local_port = 0;        // on loopback, for gateway and operators
};

// Messages queued for one slow or disconnected client; mosquitto silently drops more. Its default of 1,000 would lose
// the state of a fleet.
inline constexpr int kBrokerQueuedMax = 100'000;
inline constexpr int kBrokerDevicesMax = 20'000;   // connections; as many nodes as a gateway takes
inline constexpr int kBrokerOperatorsMax = 1'000;  // connections, the gateway's among them

// An error names the identity and the fix.
Status check_identities(const std::vector<BrokerIdentity>& identities);
// mosquitto's acl_file. Devices may answer the gateway of this name only.
std::string broker_access(const std::string& fleet, const std::string& gateway,
                          const std::vector<BrokerIdentity>& identities);
// mosquitto.conf. `user`: the user that a broker started by root switches to. `memory_limit`: heap in bytes, beyond
// which the broker ends the session of whoever publishes more.
std::string broker_config(const BrokerListeners& listeners, const std::string& user, const BrokerFiles& files,
                          std::uint64_t memory_limit);

}  // namespace berth
