#include "firmware-host/agent/volumes/tree_walk.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace berth {

namespace {

// It was removed, or became something else, since its name was read.
bool has_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

int open_directory(int parent, const char* name) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(syscall(SYS_openat2, parent, name, &how, sizeof how));
}

}  // namespace

Status TreeWalk::failed(const std::string& what) const {
  return Status::error(directory_ + ": " + what + ": " + std::strerror(errno));
}

Result<bool> TreeWalk::step(int entries) {
  if (!has_begun_) {
    has_begun_ = true;
    if (Status begun = begin(); !begun.is_success()) return begun;
  }
  for (; entries > 0 && !levels_.empty(); --entries) {
    if (Status visited = next(); !visited.is_success()) {
      levels_.clear();
      return visited;
    }
  }
  return levels_.empty();
}

Status TreeWalk::begin() {
  const int opened = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Level level(opened < 0 ? nullptr : fdopendir(opened));
  if (!level) return failed("cannot open it");
  levels_.push_back(std::move(level));
  return Status::ok();
}

Status TreeWalk::next() {
  errno = 0;
  const dirent* entry = readdir(levels_.back().get());
  if (entry == nullptr) return errno == 0 ? leave() : failed("cannot read a directory in it");
  const std::string_view name = entry->d_name;
  if (name == "." || name == "..") return Status::ok();
  const int parent = dirfd(levels_.back().get());
  struct stat found{};
  if (fstatat(parent, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return has_gone(errno) ? Status::ok() : failed(entry->d_name);
  }
  return S_ISDIR(found.st_mode) ? enter(entry->d_name) : visit_(parent, entry->d_name, found);
}

Status TreeWalk::enter(const char* name) {
  const int opened = open_directory(dirfd(levels_.back().get()), name);
  if (opened < 0 && (errno == EXDEV || has_gone(errno))) return Status::ok();  // another mount
  Level level(opened < 0 ? nullptr : fdopendir(opened));
  if (!level) return failed(name);
  if (levels_.size() >= kDeepest) {
    return Status::unresolvable(directory_ + ": has directories more than " + std::to_string(kDeepest) +
                                " levels deep: remove them");
  }
  levels_.push_back(std::move(level));
  return Status::ok();
}

Status TreeWalk::leave() {
  const Level level = std::move(levels_.back());
  levels_.pop_back();
  struct stat found{};
  if (fstat(dirfd(level.get()), &found) != 0) return failed("a directory in it");
  return visit_(dirfd(level.get()), ".", found);
}

}  // namespace berth
