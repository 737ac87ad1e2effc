// The accounts in the embedded broker's files that are in no configuration: those that berthctl enrolled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "firmware-host/gateway/broker_config.h"

namespace berth {

// Name and role of each account of an ACL that berthctl enrolled.
std::vector<BrokerIdentity> enrolled_in(std::string_view access);
// Fleet and gateway that an ACL was written for; empty: it names none.
struct ServedFleet {
  std::string fleet;
  std::string gateway;
};
ServedFleet served_by(std::string_view access);
// The line "name:hash" of a password file, with its newline; empty: none.
std::string password_line(std::string_view passwords, std::string_view name);

}  // namespace berth
