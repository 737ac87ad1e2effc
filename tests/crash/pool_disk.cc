#include "tests/crash/pool_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "tests/crash/sqlite_faults.h"

namespace berth::crash {

namespace {

namespace fs = std::filesystem;

PoolDisk* watched = nullptr;  // its PoolFiles is at work

class Watch {
 public:
  explicit Watch(PoolDisk& disk) { watched = &disk; }
  ~Watch() { watched = nullptr; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

int result_of(long result) { return static_cast<int>(result); }
int real_make(int parent, const char* name, mode_t mode) { return result_of(syscall(SYS_mkdirat, parent, name, mode)); }
int real_unlink(int parent, const char* name, int flags) {
  return result_of(syscall(SYS_unlinkat, parent, name, flags));
}
int real_rename(int from, const char* name, int to, const char* new_name) {
  return result_of(syscall(SYS_renameat2, from, name, to, new_name, 0));
}

bool are_same(int a, int b) {
  struct stat first{};
  struct stat second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_empty(int parent, const char* name) {
  const fs::path path = fs::path("/proc/self/fd") / std::to_string(parent) / name;
  return fs::is_empty(path);
}

void remove_target(int parent, const char* name) {
  PoolDisk* const unwatched = std::exchange(watched, nullptr);
  std::error_code ignored;
  const fs::path path = fs::path("/proc/self/fd") / std::to_string(parent) / name;
  if (fs::is_symlink(path, ignored)) fs::remove_all(fs::canonical(path, ignored), ignored);
  watched = unwatched;
}

}  // namespace

PoolDisk::PoolDisk() {
  // In memory where that is possible: each run makes a hundred files.
  const fs::path memory = "/dev/shm";
  const bool has_memory = access(memory.c_str(), W_OK | X_OK) == 0;
  std::string name = ((has_memory ? memory : fs::temp_directory_path()) / "berth-crash-XXXXXX").string();
  CHECK(mkdtemp(name.data()) != nullptr);
  folder_ = name;
}

PoolDisk::~PoolDisk() {
  reset({});
  close(aside_);
  fs::remove_all(folder_);
}

void PoolDisk::reset(const PoolDefects& defects) {
  for (const Change& change : std::exchange(unsynced_, {})) forget(change);
  defects_ = defects;
  quotas_.reset(defects.keeps_limits);
  if (aside_ >= 0) close(aside_);
  for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry);
  for (const std::string& made : {root(), outside(), folder_ + "/aside"}) fs::create_directory(made);
  aside_ = ::open((folder_ + "/aside").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(aside_ >= 0);
}

void PoolDisk::lose_power(const Fault& cut) {
  quotas_.lose_power(cut);
  Random random(cut.seed);
  std::reverse(unsynced_.begin(), unsynced_.end());
  bool is_last = true;
  for (const Change& change : std::exchange(unsynced_, {})) {
    // Torn: a name is written completely or not at all.
    const bool is_torn = cut.fate == Fate::torn && std::exchange(is_last, false);
    const bool is_lost = is_torn || cut.fate == Fate::dropped || (cut.fate == Fate::mixed && random.chance(1, 2));
    // One that a later change has carried off stays there: its directory is gone.
    if (is_lost) {
      static_cast<void>(real_rename(change.now.directory, change.now.name.c_str(), change.before.directory,
                                    change.before.name.c_str()));
    }
    forget(change);
  }
}

PoolDisk::Place PoolDisk::place(int directory, const char* name) {
  return {fcntl(directory, F_DUPFD_CLOEXEC, 0), name};
}

PoolDisk::Place PoolDisk::aside() { return place(aside_, std::to_string(++moved_aside_).c_str()); }

void PoolDisk::note(Place before, Place now) { unsynced_.push_back({std::move(before), std::move(now)}); }

void PoolDisk::forget(const Change& change) {
  close(change.before.directory);
  close(change.now.directory);
}

// Like the system call: with errno.
int PoolDisk::carry_out(bool grows, const std::function<int()>& call) {
  int result = 0;
  int error = 0;
  const Answer answer = mounted().change_beside(grows, [&] {
    result = call();
    error = errno;
  });
  errno = answer == Answer::ok ? error : answer == Answer::full ? ENOSPC : EIO;
  return answer == Answer::ok ? result : -1;
}

int PoolDisk::make_directory(int parent, const char* name, mode_t mode) {
  return carry_out(true, [&] {
    if (real_make(parent, name, mode) != 0) return -1;
    note(aside(), place(parent, name));
    return 0;
  });
}

// What cannot be removed is no change.
int PoolDisk::unlink(int parent, const char* name, int flags) {
  struct stat found{};
  if (fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  const bool is_directory = S_ISDIR(found.st_mode);
  if (is_directory != (flags == AT_REMOVEDIR)) {
    errno = is_directory ? EISDIR : ENOTDIR;
    return -1;
  }
  if (is_directory && !is_empty(parent, name)) {
    errno = ENOTEMPTY;
    return -1;
  }
  return carry_out(false, [&] {
    if (defects_.follows_links) remove_target(parent, name);
    const Place now = aside();
    if (real_rename(parent, name, now.directory, now.name.c_str()) != 0) {
      close(now.directory);
      return -1;
    }
    note(place(parent, name), now);
    return 0;
  });
}

int PoolDisk::rename(int from, const char* name, int to, const char* new_name) {
  return carry_out(false, [&] {
    if (real_rename(from, name, to, new_name) != 0) return -1;
    note(place(from, name), place(to, new_name));
    return 0;
  });
}

int PoolDisk::sync(int directory) {
  const int result = carry_out(false, [] { return 0; });
  if (result != 0 || defects_.lies || mounted().lies()) return result;
  quotas_.sync();
  std::erase_if(unsynced_, [&](const Change& change) {
    const bool is_here = are_same(change.now.directory, directory) || are_same(change.before.directory, directory);
    if (is_here) forget(change);
    return is_here;
  });
  return result;
}

Status PoolDisk::open(std::vector<VolumePool>& pools) { return files_.open(pools, {PoolQuota::required}); }

Status PoolDisk::make(const std::string& root, const std::string& volume, std::int64_t bytes) {
  const Watch watch(*this);
  return files_.make(root, volume, bytes);
}

Result<bool> PoolDisk::is_free(const std::string& root, const std::string& volume) {
  const Watch watch(*this);
  return files_.is_free(root, volume);
}

Status PoolDisk::limit(const std::string& root, const std::string& volume, std::int64_t bytes) {
  const Watch watch(*this);
  return files_.limit(root, volume, bytes);
}

Result<bool> PoolDisk::remove(const std::string& root, const std::string& volume, int entries) {
  const Watch watch(*this);
  return files_.remove(root, volume, entries);
}

std::vector<std::string> PoolDisk::list(const std::string& root) { return files_.list(root); }

}  // namespace berth::crash

// The program's own functions come before those of the C library.
extern "C" {

int mkdirat(int parent, const char* name, mode_t mode) noexcept {
  using namespace berth::crash;
  return watched != nullptr ? watched->make_directory(parent, name, mode) : real_make(parent, name, mode);
}

int unlinkat(int parent, const char* name, int flags) noexcept {
  using namespace berth::crash;
  return watched != nullptr ? watched->unlink(parent, name, flags) : real_unlink(parent, name, flags);
}

int renameat(int from, const char* name, int to, const char* new_name) noexcept {
  using namespace berth::crash;
  return watched != nullptr ? watched->rename(from, name, to, new_name) : real_rename(from, name, to, new_name);
}

int fsync(int file) {
  using namespace berth::crash;
  return watched != nullptr ? watched->sync(file) : result_of(syscall(SYS_fsync, file));
}

}  // extern "C"
