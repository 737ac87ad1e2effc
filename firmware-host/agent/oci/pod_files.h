// The files in which a pod's containers look names up, as the kubelet writes them: /etc/hostname, /etc/hosts and
// /etc/resolv.conf. There is no cluster DNS: dnsPolicy ClusterFirst is like Default, as with a kubelet that has none
// (pkg/kubelet/network/dns/dns.go GetPodDNS).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// spec.hostname, or the pod's name, at most 63 characters and not ending in '-' or '.' (kubelet util.go
// truncatePodHostnameIfNeeded).
std::string hostname_of(const Json& pod);

// `machine`: the text of the machine's own file; what pods with hostNetwork begin with. `address`: the pod's; empty: it
// has none (kubelet_pods.go ensureHostsFile). An error names the field and the fix, here and below.
Result<std::string> hosts_file(const Json& pod, std::string_view machine, const std::string& address);

// `machine`: the text of the machine's own file.
Result<std::string> resolver_file(const Json& pod, std::string_view machine);

}  // namespace berth
