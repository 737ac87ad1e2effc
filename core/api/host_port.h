// HostPort: a port of a pod, as far as it concerns the node.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

// A port of the node itself that a container takes; ports without hostPort are left out.
struct HostPort {
  std::string host_ip;           // empty: 0.0.0.0, every address
  std::string protocol = "TCP";  // "TCP", "UDP", "SCTP"
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
};

}  // namespace berth
