#include "core/api/host_ports.h"

namespace berth {

namespace {

bool is_wildcard(const HostPort& port) { return port.host_ip.empty() || port.host_ip == "0.0.0.0"; }

}  // namespace

std::vector<HostPort> host_ports(const Pod& pod) {
  std::vector<HostPort> ports;
  takes_host_port(pod, [&ports](const HostPort& port) {
    ports.push_back(port);
    return false;
  });
  return ports;
}

bool conflicts(const HostPort& a, const HostPort& b) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return is_wildcard(a) || is_wildcard(b) || a.host_ip == b.host_ip;
}

bool conflicts(const HostPort& port, const std::vector<HostPort>& others) {
  return std::any_of(others.begin(), others.end(), [&](const HostPort& other) { return conflicts(port, other); });
}

}  // namespace berth
