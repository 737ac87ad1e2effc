#include "core/api/host_ports.h"

#include <algorithm>

namespace berth {

namespace {

bool is_everywhere(const HostPort& port) { return port.host_ip.empty() || port.host_ip == "0.0.0.0"; }

void take_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const HostPort& port : container.host_ports) {
    if (port.port > 0) ports.push_back(port);
  }
}

}  // namespace

std::vector<HostPort> host_ports(const Pod& pod) {
  std::vector<HostPort> ports;
  for (const Container& container : pod.containers) take_ports(container, ports);
  for (const Container& container : pod.init_containers) {
    if (container.restart_always) take_ports(container, ports);
  }
  return ports;
}

bool conflicts(const HostPort& a, const HostPort& b) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return is_everywhere(a) || is_everywhere(b) || a.host_ip == b.host_ip;
}

bool conflicts(const HostPort& port, const std::vector<HostPort>& others) {
  return std::any_of(others.begin(), others.end(), [&](const HostPort& other) { return conflicts(port, other); });
}

}  // namespace berth
