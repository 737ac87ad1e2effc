// The ports of the node itself that pods take (kube-scheduler util.GetHostPorts, framework/types.go HostPortInfo).
#pragma once

#include <vector>

#include "core/api/objects.h"

namespace berth {

// Of the containers and of the sidecars; init containers that end free theirs before.
std::vector<HostPort> host_ports(const Pod& pod);

// The same port and protocol, at the same address or with one of them at every address ("0.0.0.0" or empty).
bool conflicts(const HostPort& a, const HostPort& b);
bool conflicts(const HostPort& port, const std::vector<HostPort>& others);

}  // namespace berth
