// Who a container runs as: the user of an image or a pod, looked up in the image's own /etc/passwd and /etc/group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/oci/security_context.h"

namespace berth {

struct UserIds {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> more_groups;  // sorted, without `group`
  std::string home = "/";
};

// The texts of the image's files; empty: it has none.
struct UserFiles {
  std::string_view passwd;
  std::string_view group;
};

// `named`: Config.User of the image, "", "user", "uid", "user:group", "uid:gid" (image-spec, image configuration). A
// pod's runAsUser and runAsGroup go before it. A number that the files do not have is itself, with group 0; a name that
// they do not have is an error (opencontainers/runc, libcontainer/user, GetExecUser).
Result<UserIds> find_user(std::string_view named, const Security& security, const UserFiles& files);

}  // namespace berth
