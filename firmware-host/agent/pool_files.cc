#include "firmware-host/agent/pool_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/mount_table.h"
#include "firmware-host/agent/volume_limits.h"

namespace berth {

namespace {

constexpr mode_t kMode = 0700;
// Each level is an open descriptor: what lies deeper is moved up, and removed from there.
constexpr int kDeepest = 32;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Status failed(const std::string& path) { return Status::error(path + ": " + std::strerror(errno)); }

Descriptor open_root(const std::string& root) {
  return Descriptor(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// The root of a pool that is in use. Where something must be mounted it is looked for after the root was opened, and
// the descriptor compared: a disk that comes or goes meanwhile is another directory, and one that is open cannot go.
Result<Descriptor> open_pool(const std::string& root, const std::set<std::string>& mount_points) {
  Descriptor directory = open_root(root);
  if (!directory) return failed("pool " + root);
  if (!mount_points.contains(root)) return directory;
  const Result<bool> mounted = is_mount_point(root);
  if (!mounted) return Status::error("pool " + mounted.error().message());
  struct stat opened{};
  struct stat now{};
  if (fstat(directory.get(), &opened) != 0 || stat(root.c_str(), &now) != 0) return failed("pool " + root);
  if (*mounted && opened.st_dev == now.st_dev && opened.st_ino == now.st_ino) return directory;
  return Status::error("pool " + root +
                       ": nothing is mounted there, which its mount_point: true demands: mount the disk");
}

Descriptor open_below(int parent, const char* name) {
  return Descriptor(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The stream has a descriptor of its own, from the first entry on.
Directory entries_of(int directory) {
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Directory entries(again < 0 ? nullptr : fdopendir(again));
  if (again >= 0 && !entries) close(again);
  return entries;
}

const char* next_name(const Directory& entries) {
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
  return nullptr;
}

bool is_empty(int directory) {
  const Directory entries = entries_of(directory);
  return entries && next_name(entries) == nullptr;
}

Status sync(const Descriptor& directory, const std::string& path) {
  return fsync(directory.get()) == 0 ? Status::ok() : failed(path);
}

// Removes a tree in steps.
class Removal {
 public:
  Removal(dev_t device, int entries) : device_(device), left_(entries) {}

  // True: `name` is gone.
  Result<bool> remove(int parent, const char* name, int depth) {
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    if (errno == ENOTDIR) return unlinkat(parent, name, 0) == 0 ? Result<bool>(true) : failed(name);
    if (errno != ENOTEMPTY && errno != EEXIST) return failed(name);
    // Whoever owned it may have taken the right to read it.
    Descriptor directory = open_below(parent, name);
    if (!directory && errno == EACCES && fchmodat(parent, name, kMode, 0) == 0) return remove_in(parent, name, depth);
    return directory ? remove_from(std::move(directory), parent, name, depth) : failed(name);
  }

 private:
  Result<bool> remove_in(int parent, const char* name, int depth) {
    Descriptor directory = open_below(parent, name);
    return directory ? remove_from(std::move(directory), parent, name, depth) : failed(name);
  }

  Result<bool> remove_from(Descriptor directory, int parent, const char* name, int depth) {
    struct stat found{};
    if (fstat(directory.get(), &found) != 0) return failed(name);
    if (found.st_dev != device_) return Status::error(std::string(name) + ": something is mounted there; unmount it");
    if ((found.st_mode & kMode) != kMode && fchmod(directory.get(), kMode) != 0) return failed(name);
    if (depth == 0) top_ = directory.get();
    if (depth == kDeepest) return move_up(parent, name, found.st_ino);
    const Directory entries = entries_of(directory.get());
    if (!entries) return failed(name);
    while (const char* inner = next_name(entries)) {
      if (left_-- <= 0) return false;
      const Result<bool> gone = remove(directory.get(), inner, depth + 1);
      if (!gone || !*gone) return gone;
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    // The list of a directory that changes may leave something out.
    return errno == ENOTEMPTY || errno == EEXIST ? Result<bool>(false) : failed(name);
  }

  Result<bool> move_up(int parent, const char* name, ino_t inode) {
    const std::string up = "deep-" + std::to_string(inode);
    if (renameat(parent, name, top_, up.c_str()) == 0) return true;
    return failed(name);
  }

  dev_t device_;
  int left_;
  int top_ = -1;
};

}  // namespace

// A project that the root has was given by somebody who limits the pool as a whole: that stays.
Status PoolFiles::check_quota(int root) {
  if (Status usable = quotas_.check(root); !usable.is_success()) return usable;
  const Result<std::uint32_t> project = quotas_.project(root);
  if (!project) return project.error();
  return *project == 0 ? Status::ok() : Status::error("it is in project " + std::to_string(*project) + " already");
}

Status PoolFiles::open(std::vector<VolumePool>& pools, const std::vector<PoolQuota>& wanted,
                       const std::vector<std::string>& mount_points) {
  mount_points_ = {mount_points.begin(), mount_points.end()};
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const std::string setting = "volume_pools[" + std::to_string(i) + "].";
    const std::string& root = pools[i].root;
    if (const Descriptor directory = open_root(root); !directory) {
      return Status::error(setting + "root: " + root + ": " + std::strerror(errno) +
                           "; make the directory, or mount the disk that has it");
    }
    if (wanted.at(i) != PoolQuota::off) undecided_[root] = wanted.at(i);
    const Result<Descriptor> pool = open_pool(root, mount_points_);
    if (!pool) {
      log_.write(Level::warn, "no volume is made in this pool now", {{"why", pool.error().message()}});
      continue;
    }
    const Result<bool> limited = is_limited(root, pool->get());
    if (!limited) return Status::error(setting + limited.error().message());
    pools[i].is_limited = *limited;
  }
  return Status::ok();
}

// Found out when the pool is used first, since its disk may be mounted after the start.
Result<bool> PoolFiles::is_limited(const std::string& root, int directory) {
  const auto undecided = undecided_.find(root);
  if (undecided == undecided_.end()) return limited_.contains(root);
  const Status usable = check_quota(directory);
  if (!usable.is_success() && undecided->second == PoolQuota::required) {
    return Status::error("quota: required, but what pods write to " + root + " cannot be limited: " + usable.message());
  }
  undecided_.erase(undecided);
  if (usable.is_success()) {
    limited_.insert(root);
  } else {
    log_.write(Level::info, "what pods write to this pool is not limited", {{"root", root}, {"why", usable.message()}});
  }
  return usable.is_success();
}

std::vector<std::string> PoolFiles::list(const std::string& root) {
  std::vector<std::string> names;
  const Result<Descriptor> pool = open_pool(root, mount_points_);
  const Directory entries = pool ? entries_of(pool->get()) : nullptr;
  if (!entries) return names;
  while (const char* name = next_name(entries)) {
    struct stat found{};
    const bool is_directory =
        fstatat(dirfd(entries.get()), name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
    if (is_directory && std::string_view(name) != "lost+found") names.emplace_back(name);
  }
  return names;
}

// Its project is durable before the limit: no limit is left of a project that no directory has.
Status PoolFiles::take_empty(int root, const std::string& path, const char* volume, bool is_limited) {
  const Descriptor directory = open_below(root, volume);
  if (!directory || !is_empty(directory.get())) {
    return Status::error(not_made_here(path));
  }
  if (!is_limited) return Status::ok();
  if (Status given = give_project(quotas_, directory.get(), volume); !given.is_success()) {
    return Status::error(path + ": " + given.message());
  }
  return sync(directory, path);
}

Result<bool> PoolFiles::is_free(const std::string& root, const std::string& volume) {
  const Result<Descriptor> parent = open_pool(root, mount_points_);
  if (!parent) return parent.error();
  const Descriptor directory = open_below(parent->get(), volume.c_str());
  if (directory) return is_empty(directory.get());
  if (errno == ENOENT) return true;
  return errno == ENOTDIR || errno == ELOOP ? Result<bool>(false) : failed(root + "/" + volume);
}

Status PoolFiles::make(const std::string& root, const std::string& volume, std::int64_t bytes) {
  const std::string path = root + "/" + volume;
  const Result<Descriptor> directory = open_pool(root, mount_points_);
  if (!directory) return directory.error();
  const Result<bool> limited = is_limited(root, directory->get());
  if (!limited) return limited.error();
  if (mkdirat(directory->get(), volume.c_str(), kMode) != 0 && errno != EEXIST) return failed(path);
  if (Status taken = take_empty(directory->get(), path, volume.c_str(), *limited); !taken.is_success()) {
    return taken;
  }
  if (Status synced = sync(*directory, root); !synced.is_success()) return synced;
  return limit(root, volume, bytes);
}

Status PoolFiles::limit(const std::string& root, const std::string& volume, std::int64_t bytes) {
  if (!limited_.contains(root) && !undecided_.contains(root)) return Status::ok();
  const std::string path = root + "/" + volume;
  const Result<Descriptor> parent = open_pool(root, mount_points_);
  if (!parent) return parent.error();
  if (const Result<bool> limited = is_limited(root, parent->get()); !limited || !*limited) {
    return limited ? Status::ok() : limited.error();
  }
  const Descriptor directory = open_below(parent->get(), volume.c_str());
  if (!directory) return errno == ENOENT ? Status::ok() : failed(path);
  const Result<bool> has_one = has_project(quotas_, directory.get());
  if (!has_one) return Status::error(path + ": " + has_one.error().message());
  if (!*has_one && !is_empty(directory.get())) {
    return Status::error(path + " has data from before its pool was limited");
  }
  if (!*has_one) {
    if (Status taken = take_empty(parent->get(), path, volume.c_str(), true); !taken.is_success()) return taken;
  }
  const Status limited = limit_project(quotas_, directory.get(), bytes);
  return limited.is_success() ? limited : Status::error(path + ": " + limited.message());
}

// Whatever is removed next, its limit ends before: none is left of a project that no directory has. On a file system
// whose limits are not in force any more they are left: it is asked for them again when they are.
Status PoolFiles::end_limit_of(int root, const std::string& volume) {
  const Descriptor directory = open_below(root, volume.c_str());
  if (!directory || !quotas_.check(root).is_success()) return Status::ok();
  const Result<bool> ended = end_limit(quotas_, directory.get());
  if (!ended) return ended.error();
  return *ended ? sync(directory, volume) : Status::ok();
}

Result<bool> PoolFiles::remove(const std::string& root, const std::string& volume, int entries) {
  const Result<Descriptor> directory = open_pool(root, mount_points_);
  if (!directory) return directory.error();
  struct stat found{};
  if (fstat(directory->get(), &found) != 0) return failed("pool " + root);
  if (Status ended = end_limit_of(directory->get(), volume); !ended.is_success()) {
    return Status::error(root + "/" + volume + ": " + ended.message());
  }
  Removal removal(found.st_dev, entries);
  const Result<bool> gone = removal.remove(directory->get(), volume.c_str(), 0);
  if (!gone) return Status::error(root + "/" + volume + ": " + gone.error().message());
  if (!*gone) return false;
  if (Status synced = sync(*directory, root); !synced.is_success()) return synced;
  return true;
}

}  // namespace berth
