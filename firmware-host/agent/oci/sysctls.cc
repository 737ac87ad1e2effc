#include "firmware-host/agent/oci/sysctls.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/json/members.h"

namespace berth {

namespace {

// pkg/kubelet/sysctl/safe_sysctls.go
constexpr std::array<std::string_view, 12> kSafe = {
    "kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem"};

// What belongs to a namespace (pkg/kubelet/sysctl/namespace.go).
constexpr std::array<std::string_view, 5> kOfIpc = {"kernel.shm*", "kernel.msg*", "kernel.sem", "fs.mqueue.*",
                                                    "kernel.shm_rmid_forced"};
constexpr std::array<std::string_view, 1> kOfNetwork = {"net.*"};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_among(std::string_view name, const auto& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return matches(name, pattern); });
}

// core/validation IsValidSysctlName: parts of small letters, digits, '-' and '_', parted by dots, or by slashes.
bool is_name(std::string_view name) {
  bool was_part = false;
  for (const char c : name) {
    const bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_part && ((c != '.' && c != '/') || !was_part)) return false;
    was_part = is_part;
  }
  return was_part && name.size() <= 253;
}

}  // namespace

Status check_sysctls(const Json& pod_spec, const std::vector<std::pair<std::string, std::string>>& sysctls,
                     const std::vector<std::string>& allowed) {
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string at = "spec.securityContext.sysctls[" + std::to_string(i) + "]";
    std::string name = sysctls[i].first;
    if (!is_name(name))
      return Status::error(at + ".name: expected a name such as net.core.somaxconn, got '" + name + "'");
    std::replace(name.begin(), name.end(), '/', '.');
    const bool of_ipc = is_among(name, kOfIpc), of_network = is_among(name, kOfNetwork);
    if (!of_ipc && !of_network) return Status::error(at + ": " + name + " is the whole machine's; set it there");
    if (!is_among(name, kSafe) && !is_among(name, allowed)) {
      return Status::error(at + ": forbidden sysctl: " + name +
                           " is not allowed on this node: add it to containers.allowed_unsafe_sysctls there");
    }
    const char* host = of_ipc ? "hostIPC" : "hostNetwork";
    if (member(pod_spec, host).is_bool() && member(pod_spec, host).as_bool()) {
      return Status::error(at + ": " + name + " would be the machine's, because of spec." + host + "; remove one");
    }
  }
  return Status::ok();
}

}  // namespace berth
