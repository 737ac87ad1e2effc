#include "firmware-host/agent/volumes/volume_ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/volumes/tree_walk.h"

namespace berth {

namespace {

constexpr mode_t kFileMask = 0660;
constexpr mode_t kDirectoryMask = 02770;

mode_t mask_of(mode_t mode) { return S_ISDIR(mode) ? kDirectoryMask : kFileMask; }

bool has_group(const struct stat& found, gid_t group) {
  return found.st_gid == group &&
         (S_ISLNK(found.st_mode) || (found.st_mode & mask_of(found.st_mode)) == mask_of(found.st_mode));
}

Status change(int parent, const char* name, gid_t group) {
  // What the name stands for may be replaced at any moment, a descriptor not.
  const Descriptor opened(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found{};
  if (!opened && errno == ENOENT) return Status::ok();
  if (!opened || fstat(opened.get(), &found) != 0)
    return Status::error(std::string(name) + ": " + std::strerror(errno));
  const std::string path = "/proc/self/fd/" + std::to_string(opened.get());
  const bool is_given =
      found.st_gid == group || fchownat(opened.get(), "", static_cast<uid_t>(-1), group, AT_EMPTY_PATH) == 0;
  // A link has no mode of its own. chown(2) takes setuid and setgid away: the mode is set even if it seems right.
  const bool is_done = is_given && (S_ISLNK(found.st_mode) ||
                                    chmod(path.c_str(), (found.st_mode & 07777) | mask_of(found.st_mode)) == 0);
  return is_done ? Status::ok() : Status::error(std::string(name) + ": " + std::strerror(errno));
}

}  // namespace

Status set_volume_group(const std::string& directory, const VolumeGroup& group) {
  struct stat root{};
  if (stat(directory.c_str(), &root) != 0) return Status::error(directory + ": " + std::strerror(errno));
  if (group.on_root_mismatch && has_group(root, group.group)) return Status::ok();
  TreeWalk walk(directory, [&](int parent, const char* name, const struct stat& found) {
    return has_group(found, group.group) ? Status::ok() : change(parent, name, group.group);
  });
  const Result<bool> done = walk.step(std::numeric_limits<int>::max());
  return done ? Status::ok() : Status::error("fsGroup: cannot change " + done.error().message());
}

}  // namespace berth
