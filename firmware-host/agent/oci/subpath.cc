#include "firmware-host/agent/oci/subpath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "firmware-host/agent/descriptor.h"

namespace berth {

namespace {

// Without following anything out of the directory (openat2(2), RESOLVE_BENEATH).
Descriptor open_beneath(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  constexpr int kTries = 32;  // EAGAIN: something was renamed meanwhile, and it cannot be told whether it led out
  for (int i = 0; i < kTries; ++i) {
    const auto opened = static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
    if (opened >= 0 || errno != EAGAIN) return Descriptor(opened);
  }
  return Descriptor();
}

Status refused(const std::string& subpath, const std::string& why) {
  return Status::error("subPath '" + subpath + "': " + why);
}

Status not_opened(const std::string& subpath) {
  if (errno == EXDEV) return refused(subpath, "leads out of its volume");
  return refused(subpath, std::strerror(errno));
}

// Opens it, and makes what is missing on the way.
Status open_or_make(int volume, const std::string& subpath, Descriptor& opened) {
  struct stat like{};
  if (fstat(volume, &like) != 0) return not_opened(subpath);
  std::string_view rest = subpath;
  std::string done;
  while (!rest.empty()) {
    const std::size_t end = rest.find('/');
    const std::string part(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused(subpath, "must be without ..");
    const std::string path = done.empty() ? part : done + "/" + part;
    Descriptor next = open_beneath(volume, path);
    if (next.get() < 0 && errno == ENOENT) {
      const int parent = opened.get() >= 0 ? opened.get() : volume;
      if (mkdirat(parent, part.c_str(), like.st_mode & 0777) != 0 && errno != EEXIST) return not_opened(subpath);
      next = open_beneath(volume, path);
      const std::string made = "/proc/self/fd/" + std::to_string(next.get());
      const bool has_all = next.get() < 0 || (chown(made.c_str(), like.st_uid, like.st_gid) == 0 &&
                                              chmod(made.c_str(), like.st_mode & 0777) == 0);  // whatever the umask
      if (!has_all) return not_opened(subpath);
    }
    if (next.get() < 0) return not_opened(subpath);
    opened = std::move(next);
    done = path;
  }
  return Status::ok();
}

Status make_target(const std::string& target, bool is_directory) {
  if (is_directory) {
    if (mkdir(target.c_str(), 0755) == 0 || errno == EEXIST) return Status::ok();
  } else {
    const Descriptor made(open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (made.get() >= 0) return Status::ok();
  }
  return Status::error("cannot make " + target + ": " + std::strerror(errno));
}

}  // namespace

Status bind_subpath(const std::string& volume, const std::string& subpath, const std::string& target) {
  if (subpath.empty() || subpath.front() == '/') return refused(subpath, "must be a relative path");
  const Descriptor root(open(volume.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) return Status::error("cannot open volume " + volume + ": " + std::strerror(errno));
  Descriptor opened;
  if (Status found = open_or_make(root.get(), subpath, opened); !found.is_success()) return found;
  struct stat what{};
  if (opened.get() < 0 || fstat(opened.get(), &what) != 0) return refused(subpath, "names the volume itself");
  if (Status made = make_target(target, S_ISDIR(what.st_mode)); !made.is_success()) return made;
  const std::string source = "/proc/self/fd/" + std::to_string(opened.get());
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return Status::ok();
  return not_opened(subpath);
}

}  // namespace berth
