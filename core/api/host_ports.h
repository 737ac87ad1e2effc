// Host ports used by pods (kube-scheduler util.GetHostPorts, framework/types.go HostPortInfo).
#pragma once

#include <algorithm>
#include <vector>

#include "core/api/pod.h"

namespace berth {

// Whether the predicate holds for one of the pod's host ports: those of containers and sidecars, but not of other init
// containers, which have released theirs by then.
template <class Predicate>
bool takes_host_port(const Pod& pod, const Predicate& matches) {
  const auto any_port = [&matches](const Container& container) {
    return std::any_of(container.host_ports.begin(), container.host_ports.end(),
                       [&matches](const HostPort& port) { return port.port > 0 && matches(port); });
  };
  return std::any_of(pod.spec->containers.begin(), pod.spec->containers.end(), any_port) ||
         std::any_of(
             pod.spec->init_containers.begin(), pod.spec->init_containers.end(),
             [&any_port](const Container& container) { return container.restart_always && any_port(container); });
}
inline bool takes_host_ports(const Pod& pod) {
  return takes_host_port(pod, [](const HostPort&) { return true; });
}
std::vector<HostPort> host_ports(const Pod& pod);

// Same port and protocol, and the same address or one of them is the wildcard address ("0.0.0.0" or empty).
bool conflicts(const HostPort& a, const HostPort& b);
bool conflicts(const HostPort& port, const std::vector<HostPort>& others);

}  // namespace berth
