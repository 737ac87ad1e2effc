#include "firmware-host/agent/oci/capabilities.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>

namespace berth {

namespace {

// By number: linux/capability.h.
constexpr std::array<std::string_view, 41> kNames{"CAP_CHOWN",
                                                  "CAP_DAC_OVERRIDE",
                                                  "CAP_DAC_READ_SEARCH",
                                                  "CAP_FOWNER",
                                                  "CAP_FSETID",
                                                  "CAP_KILL",
                                                  "CAP_SETGID",
                                                  "CAP_SETUID",
                                                  "CAP_SETPCAP",
                                                  "CAP_LINUX_IMMUTABLE",
                                                  "CAP_NET_BIND_SERVICE",
                                                  "CAP_NET_BROADCAST",
                                                  "CAP_NET_ADMIN",
                                                  "CAP_NET_RAW",
                                                  "CAP_IPC_LOCK",
                                                  "CAP_IPC_OWNER",
                                                  "CAP_SYS_MODULE",
                                                  "CAP_SYS_RAWIO",
                                                  "CAP_SYS_CHROOT",
                                                  "CAP_SYS_PTRACE",
                                                  "CAP_SYS_PACCT",
                                                  "CAP_SYS_ADMIN",
                                                  "CAP_SYS_BOOT",
                                                  "CAP_SYS_NICE",
                                                  "CAP_SYS_RESOURCE",
                                                  "CAP_SYS_TIME",
                                                  "CAP_SYS_TTY_CONFIG",
                                                  "CAP_MKNOD",
                                                  "CAP_LEASE",
                                                  "CAP_AUDIT_WRITE",
                                                  "CAP_AUDIT_CONTROL",
                                                  "CAP_SETFCAP",
                                                  "CAP_MAC_OVERRIDE",
                                                  "CAP_MAC_ADMIN",
                                                  "CAP_SYSLOG",
                                                  "CAP_WAKE_ALARM",
                                                  "CAP_BLOCK_SUSPEND",
                                                  "CAP_AUDIT_READ",
                                                  "CAP_PERFMON",
                                                  "CAP_BPF",
                                                  "CAP_CHECKPOINT_RESTORE"};
constexpr std::array<std::string_view, 14> kDefaults{
    "CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FSETID",           "CAP_FOWNER",
    "CAP_MKNOD",   "CAP_NET_RAW",      "CAP_SETGID",           "CAP_SETUID",
    "CAP_SETFCAP", "CAP_SETPCAP",      "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_KILL",    "CAP_AUDIT_WRITE"};
constexpr std::string_view kAll = "CAP_ALL";

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// ALL goes before single names (containerd, internal/cri/server/container_create_linux.go): what is added stays when
// all are dropped, and what is dropped goes when all are added.
Result<std::vector<std::string>> capabilities_of(const Security& security, unsigned last, std::uint64_t bounding) {
  const std::size_t known = std::min<std::size_t>(kNames.size(), std::size_t{last} + 1);
  for (const std::vector<std::string>* names : {&security.added, &security.dropped}) {
    for (const std::string& name : *names) {
      if (name == kAll || std::find(kNames.begin(), kNames.begin() + known, name) != kNames.begin() + known) continue;
      return Status::error("securityContext.capabilities: this kernel has no capability " + name);
    }
  }
  for (const std::string& name : security.added) {
    const auto at = std::find(kNames.begin(), kNames.end(), name);
    if (at == kNames.end() || (bounding >> (at - kNames.begin()) & 1) != 0) continue;
    return Status::error("securityContext.capabilities.add: the agent may not give " + name +
                         " itself; look at its service");
  }
  const bool starts_with_all = security.privileged || has(security.added, kAll);
  const bool starts_with_none = !starts_with_all && has(security.dropped, kAll);
  std::vector<std::string> capabilities;
  for (std::size_t number = 0; number < known; ++number) {
    const std::string_view name = kNames[number];
    const bool is_default = std::find(kDefaults.begin(), kDefaults.end(), name) != kDefaults.end();
    bool is_given = starts_with_all || (!starts_with_none && is_default);
    if (!security.privileged) is_given = (is_given && !has(security.dropped, name)) || has(security.added, name);
    if (is_given && (bounding >> number & 1) != 0) capabilities.emplace_back(name);
  }
  return capabilities;
}

std::uint64_t capability_bits(const std::vector<std::string>& names) {
  std::uint64_t bits = 0;
  for (std::size_t number = 0; number < kNames.size(); ++number) {
    if (has(names, kNames[number])) bits |= std::uint64_t{1} << number;
  }
  return bits;
}

}  // namespace berth
