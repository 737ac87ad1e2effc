#include "firmware-host/agent/bound_volumes.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "firmware-host/agent/mount_table.h"

namespace berth {

namespace {

// An error: this cannot be told now.
Result<bool> is_directory(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) == 0) return S_ISDIR(found.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return Status::error("directory " + path + ": " + std::strerror(errno));
}

// `whose`: what demands it.
Status find_mount(const std::string& what, const std::string& path, const std::string& whose, const std::string& node) {
  const Result<bool> mounted = is_mount_point(path);
  if (!mounted) return Status::pending(what + mounted.error().message());
  if (*mounted) return Status::ok();
  return Status::error(what + "nothing is mounted at " + path + " on node " + node + ", which " + whose +
                       " mount_point: true demands: mount the disk");
}

// A directory made here in place of one that is missing would be an empty disk in place of the claim's data.
Status find_volume(const BoundVolume& volume, const VolumeDemands& demands, bool may_be_missing) {
  const std::string what = "volume " + volume.volume + ": ";
  // First: a directory is missing from a pool because its disk is.
  for (const std::string& root : demands.mount_points) {
    if (!volume.path.starts_with(root + "/")) continue;
    if (Status found = find_mount(what, root, "its pool's", demands.node); !found.is_success()) return found;
  }
  if (may_be_missing) return Status::ok();
  const Result<bool> exists = is_directory(volume.path);
  if (!exists) return Status::pending(what + exists.error().message());
  if (!*exists) {
    return Status::error(what + "directory " + volume.path + " does not exist on node " + demands.node +
                         ": create it, or mount the disk that has it");
  }
  const auto& demanding = demands.mount_points;
  if (std::find(demanding.begin(), demanding.end(), volume.path) == demanding.end()) return Status::ok();
  return find_mount(what, volume.path, "its", demands.node);
}

}  // namespace

Status find_volumes(const std::vector<BoundVolume>& volumes, const VolumeDemands& demands, bool with_new) {
  for (const BoundVolume& volume : volumes) {
    const bool may_be_missing = volume.make.has_value() && !with_new;
    if (Status found = find_volume(volume, demands, may_be_missing); !found.is_success()) return found;
  }
  return Status::ok();
}

}  // namespace berth
