#include "firmware-host/ctl/ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace berth {

namespace fs = std::filesystem;

Result<Owner> owner_of(const std::string& directory) {
  fs::path path = fs::absolute(directory).lexically_normal();
  struct stat found{};
  while (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT || path == path.parent_path()) {
      return Status::error("cannot read " + path.string() + ": " + std::strerror(errno));
    }
    path = path.parent_path();
  }
  return Owner{found.st_uid, found.st_gid};
}

Status give_to(const Owner& owner, const std::string& directory, const std::vector<std::string>& files) {
  std::set<fs::path> paths{fs::path()};
  for (const std::string& file : files) {
    for (fs::path path = file; !path.empty(); path = path.parent_path()) paths.insert(path);
  }
  for (const fs::path& path : paths) {
    const std::string whole = path.empty() ? directory : (fs::path(directory) / path).string();
    // Not through a link: its target may be anybody's.
    if (::fchownat(AT_FDCWD, whole.c_str(), owner.uid, owner.gid, path.empty() ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
      return Status::error("cannot change the owner of " + whole + ": " + std::strerror(errno));
    }
  }
  return Status::ok();
}

}  // namespace berth
