#include "firmware-host/agent/volumes/node_path.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace berth {

namespace {

struct PathType {
  std::string_view type;  // of a hostPath
  std::string_view what;
  mode_t mode;
};
constexpr std::array<PathType, 7> kPathTypes{{{"Directory", "directory", S_IFDIR},
                                              {"DirectoryOrCreate", "directory", S_IFDIR},
                                              {"File", "file", S_IFREG},
                                              {"FileOrCreate", "file", S_IFREG},
                                              {"Socket", "socket", S_IFSOCK},
                                              {"CharDevice", "character device", S_IFCHR},
                                              {"BlockDevice", "block device", S_IFBLK}}};

}  // namespace

Status find_node_path(const NodePath& wanted, const std::string& node) {
  const auto type = std::find_if(kPathTypes.begin(), kPathTypes.end(),
                                 [&](const PathType& each) { return each.type == wanted.type; });
  const bool is_any = type == kPathTypes.end();
  const std::string what = std::string(is_any ? "path" : type->what) + " " + wanted.path;
  struct stat found{};
  if (stat(wanted.path.c_str(), &found) == 0) {
    if (is_any || (found.st_mode & S_IFMT) == type->mode) return Status::ok();
    return Status::error(wanted.path + " on node " + node + " is no " + std::string(type->what) +
                         ", which hostPath.type demands");
  }
  if (errno != ENOENT && errno != ENOTDIR) return Status::pending(what + ": " + std::strerror(errno));
  return Status::error(what + " does not exist on node " + node + ": create it");
}

Status make_node_directory(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0755) == 0) {
      if (chmod(part.c_str(), 0755) != 0) return Status::pending("directory " + part + ": " + std::strerror(errno));
    } else if (errno != EEXIST) {
      return Status::pending("directory " + part + ": " + std::strerror(errno));
    }
    if (end == std::string::npos) return Status::ok();
  }
}

}  // namespace berth
