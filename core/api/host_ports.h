// The ports of the node itself that pods take (kube-scheduler util.GetHostPorts, framework/types.go HostPortInfo).
#pragma once

#include <algorithm>
#include <vector>

#include "core/api/objects.h"

namespace berth {

// One of the ports that the pod takes is meant: those of the containers and of the sidecars; init containers that end
// free theirs before.
template <class IsMeant>
bool takes_host_port(const Pod& pod, const IsMeant& is_meant) {
  const auto among = [&is_meant](const Container& container) {
    return std::any_of(container.host_ports.begin(), container.host_ports.end(),
                       [&is_meant](const HostPort& port) { return port.port > 0 && is_meant(port); });
  };
  return std::any_of(pod.containers.begin(), pod.containers.end(), among) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(),
                     [&among](const Container& container) { return container.restart_always && among(container); });
}
inline bool takes_host_ports(const Pod& pod) {
  return takes_host_port(pod, [](const HostPort&) { return true; });
}
std::vector<HostPort> host_ports(const Pod& pod);

// The same port and protocol, at the same address or with one of them at every address ("0.0.0.0" or empty).
bool conflicts(const HostPort& a, const HostPort& b);
bool conflicts(const HostPort& port, const std::vector<HostPort>& others);

}  // namespace berth
