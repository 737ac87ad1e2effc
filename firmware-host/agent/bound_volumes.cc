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

// A directory made here in place of one that is missing would be an empty disk in place of the claim's data.
Status find_volume(const BoundVolume& volume, const VolumeDemands& demands) {
  const std::string what = "volume " + volume.volume + ": ";
  const Result<bool> exists = is_directory(volume.path);
  if (!exists) return Status::pending(what + exists.error().message());
  if (!*exists) {
    return Status::error(what + "directory " + volume.path + " does not exist on node " + demands.node +
                         ": create it, or mount the disk that has it");
  }
  const auto& demanding = demands.mount_points;
  if (std::find(demanding.begin(), demanding.end(), volume.path) == demanding.end()) return Status::ok();
  const Result<bool> mounted = is_mount_point(volume.path);
  if (!mounted) return Status::pending(what + mounted.error().message());
  if (*mounted) return Status::ok();
  return Status::error(what + "nothing is mounted at " + volume.path + " on node " + demands.node +
                       ", which its mount_point: true demands: mount the disk");
}

}  // namespace

Status find_volumes(const std::vector<BoundVolume>& volumes, const VolumeDemands& demands, bool with_new) {
  for (const BoundVolume& volume : volumes) {
    if (volume.make && !with_new) continue;
    if (Status found = find_volume(volume, demands); !found.is_success()) return found;
  }
  return Status::ok();
}

}  // namespace berth
