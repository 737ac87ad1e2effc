#include "firmware-host/agent/images/layer_union.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/images/layer_path.h"

namespace berth {

namespace {

constexpr int kMostLinks = 40;  // as the kernel follows (path_resolution(7))

// Follows no link: one that is the last part is opened itself.
int open_in(int layer, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(syscall(SYS_openat2, layer, path.c_str(), &how, sizeof how));
}

// What `layer` has above `path` shows nothing of the layers below it. An opaque root has no effect in overlayfs.
bool hides_below(int layer, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const Descriptor directory(open_in(layer, path.substr(0, slash), O_RDONLY | O_DIRECTORY));
    if (!directory) return errno != ENOENT;
    char value = 'n';
    if (fgetxattr(directory.get(), kOpaqueAttribute, &value, 1) == 1 && value == 'y') return true;
  }
  return false;
}

Result<std::string> read_link(int directory, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlinkat(directory, path.c_str(), target.data(), target.size());
  if (size < 0) return Status::error("cannot read the link \"" + path + "\": " + std::strerror(errno));
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// Puts the parts of `path` before all others.
void prepend(std::deque<std::string>& parts, std::string_view path) {
  std::vector<std::string> read;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    at = slash + 1;
    if (!part.empty() && part != ".") read.emplace_back(part);
  }
  parts.insert(parts.begin(), read.begin(), read.end());
}

}  // namespace

LayerUnion::LayerUnion(std::vector<int> lower) : lower_(std::move(lower)) {}

Result<std::string> LayerUnion::resolve_parents(const std::string& path) const {
  const std::size_t last = path.rfind('/');
  if (last == std::string::npos) return path;
  std::deque<std::string> parts;
  prepend(parts, path.substr(0, last));
  std::string resolved;  // no links in it; empty: the root
  for (int links = 0; !parts.empty();) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == "..") {
      const std::size_t slash = resolved.rfind('/');
      resolved.erase(slash == std::string::npos ? 0 : slash);
      continue;
    }
    std::string next = resolved.empty() ? part : resolved + "/" + part;
    const Result<std::string> target = link_at(next);
    if (!target) return Status::error("entry \"" + path + "\": " + target.error().message());
    if (target->empty()) {
      resolved = std::move(next);
      continue;
    }
    if (++links > kMostLinks) return Status::error("entry \"" + path + "\": too many links lead to its directory");
    if (target->front() == '/') resolved.clear();
    prepend(parts, *target);
  }
  return (resolved.empty() ? "" : resolved + "/") + path.substr(last + 1);
}

Result<std::string> LayerUnion::link_at(const std::string& path) const {
  struct stat found{};
  // Whatever else this layer has there hides what is below.
  if (lstat(path.c_str(), &found) == 0) return S_ISLNK(found.st_mode) ? read_link(AT_FDCWD, path) : std::string();
  const Descriptor below(open_below(path));
  if (!below || fstat(below.get(), &found) != 0 || !S_ISLNK(found.st_mode)) return std::string();
  return read_link(below.get(), "");
}

int LayerUnion::open_below(const std::string& path) const {
  if (hides_below(AT_FDCWD, path)) return -1;
  for (const int layer : lower_) {
    const int fd = open_in(layer, path, O_PATH);
    if (fd >= 0) return fd;
    if (errno != ENOENT) return -1;  // something else is there, and hides what is below it
    if (hides_below(layer, path)) return -1;
  }
  return -1;
}

bool LayerUnion::find_below(const std::string& path, struct stat& found) const {
  const Descriptor below(open_below(path));
  return below && fstat(below.get(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace berth
