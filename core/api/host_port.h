// HostPort: a port of the node that a container uses.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

struct HostPort {
  std::string host_ip;           // empty: 0.0.0.0, every address
  std::string protocol = "TCP";  // "TCP", "UDP", "SCTP"
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};

}  // namespace berth
