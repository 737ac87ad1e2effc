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

// Whether a resolv.conf has no nameserver but the stub of systemd-resolved, which answers in the machine's network
// alone. kubeadm (cmd/kubeadm/app/componentconfigs/kubelet.go) and Docker take the file with its servers then.
bool is_resolver_stub(std::string_view text);

// `machine`: the text of the machine's own file.
Result<std::string> resolver_file(const Json& pod, std::string_view machine);

}  // namespace berth
