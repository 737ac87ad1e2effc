#include "firmware-host/ctl/copy_staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

constexpr int kDepthMax = 200;  // two open directories each
constexpr int kWarningsMax = 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

// Of a file in an open directory.
struct StagedFile {
  int directory;
  std::string name;
};

class StagedMove {
 public:
  explicit StagedMove(std::ostream& warnings) : warnings_(warnings) {}
  ~StagedMove() {
    if (skipped_ > kWarningsMax) warnings_ << "... and " << skipped_ - kWarningsMax << " more\n";
  }
  StagedMove(const StagedMove&) = delete;
  StagedMove& operator=(const StagedMove&) = delete;

  // `shown`: its name for people.
  Outcome<void> move(const StagedFile& from, const StagedFile& to, const std::string& shown, int depth) {
    struct stat found{};
    if (fstatat(from.directory, from.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return failed(shown);
    if (S_ISDIR(found.st_mode)) return move_directory(from, to, found.st_mode, shown, depth);
    if (S_ISREG(found.st_mode)) return move_file(from, to, shown);
    const std::string what = printable(shown) + (S_ISLNK(found.st_mode) ? " is a symbolic link" : " is a special file");
    if (depth == 0) return fail(Exit::refused, what + " in the container, which cp does not copy");
    if (++skipped_ <= kWarningsMax) warnings_ << "warning: " << what << ", skipped\n";
    return {};
  }

 private:
  static Outcome<void> failed(const std::string& shown) {
    return fail(Exit::system, "cannot write " + printable(shown) + ": " + std::strerror(errno));
  }

  static Outcome<void> move_file(const StagedFile& from, const StagedFile& to, const std::string& shown) {
    struct stat there{};
    if (fstatat(to.directory, to.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode)) {
      return fail(Exit::system,
                  "cannot write " + printable(shown) + ": what is there is no regular file; remove it first");
    }
    if (renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str()) != 0) return failed(shown);
    return {};
  }

  Outcome<void> move_directory(const StagedFile& from, const StagedFile& to, mode_t mode, const std::string& shown,
                               int depth) {
    if (depth >= kDepthMax) return fail(Exit::refused, printable(shown) + " is nested too deeply");
    // Nobody else is in the staging directory, so that it is still no link.
    if (fchmodat(from.directory, from.name.c_str(), (mode & 0777) | S_IRWXU, 0) != 0) return failed(shown);
    const int reading = openat(from.directory, from.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const OpenDirectory source(reading < 0 ? nullptr : fdopendir(reading));
    if (!source) return failed(shown);
    const bool is_new = mkdirat(to.directory, to.name.c_str(), S_IRWXU) == 0;
    if (!is_new && errno != EEXIST) return failed(shown);
    const Descriptor target(openat(to.directory, to.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!target && (errno == ENOTDIR || errno == ELOOP)) {
      return fail(Exit::system,
                  "cannot write " + printable(shown) + ": what is there is no directory; remove it first");
    }
    if (!target) return failed(shown);
    while (const dirent* entry = readdir(source.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      Outcome<void> moved = move({dirfd(source.get()), name}, {target.get(), name}, shown + "/" + name, depth + 1);
      if (!moved) return moved;
    }
    if (is_new && fchmod(target.get(), mode & 0777) != 0) return failed(shown);
    return {};
  }

  std::ostream& warnings_;
  int skipped_ = 0;
};

}  // namespace

CopyStaging::CopyStaging(std::string directory) : directory_(std::move(directory)) {
  std::string path = directory_ + "/.berthctl-cp-XXXXXX";
  if (mkdtemp(path.data()) != nullptr) path_ = std::move(path);
}

CopyStaging::~CopyStaging() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) std::fprintf(stderr, "warning: cannot remove %s: %s\n", path_.c_str(), error.message().c_str());
}

Outcome<void> CopyStaging::move(const std::string& name, const std::string& target, std::ostream& warnings) const {
  const Descriptor from(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Descriptor to(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!from || !to) return fail(Exit::system, "cannot open " + directory_ + ": " + std::strerror(errno));
  struct stat found{};
  if (fstatat(from.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) return {};
  const std::string shown = (directory_ == "." ? "" : directory_ == "/" ? "/" : directory_ + "/") + target;
  return StagedMove(warnings).move({from.get(), name}, {to.get(), target}, shown, 0);
}

}  // namespace berth
