// Security: what a pod's and a container's securityContext ask for together (core/v1 PodSecurityContext and
// SecurityContext; what a container says goes before what its pod says).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct Security {
  enum class Seccomp : std::uint8_t { runtime_default, localhost, unconfined };

  std::optional<std::uint32_t> user;   // none: the image's
  std::optional<std::uint32_t> group;  // none: the user's own
  bool must_not_be_root = false;       // runAsNonRoot
  std::vector<std::uint32_t> groups;   // supplementalGroups, and then fsGroup
  bool privileged = false;
  bool no_new_privileges = false;  // allowPrivilegeEscalation: false
  bool read_only_root = false;
  bool proc_unmasked = false;      // procMount: Unmasked
  std::vector<std::string> added;  // capabilities, with their prefix: CAP_NET_ADMIN; or CAP_ALL
  std::vector<std::string> dropped;
  Seccomp seccomp = Seccomp::runtime_default;
  std::string seccomp_profile;  // localhost: a path below the directory of profiles
  std::vector<std::pair<std::string, std::string>> sysctls;
};

// Of the container at `path` ("spec.containers[0]"). An error names the field and the fix.
Result<Security> security_of(const Json& pod_spec, const Json& container, const std::string& path);

}  // namespace berth
