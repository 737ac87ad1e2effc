#include "storage/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace berth {

namespace {

Status system_error(const std::string& what, int number) { return Status::error(what + ": " + std::strerror(number)); }

std::string utc_stamp(Millis wall) {
  const std::time_t seconds = static_cast<std::time_t>(wall / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

bool exists(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0;
}

}  // namespace

Status create_private_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return errno == EEXIST ? Status::ok() : system_error("cannot create " + path, errno);
  ::close(fd);
  return Status::ok();
}

Status allocate_file(const std::string& path, std::uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot create " + path, errno);
  const int number = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  ::close(fd);
  if (number == 0) return Status::ok();
  ::unlink(path.c_str());
  return system_error("cannot allocate " + path, number);
}

void remove_file(const std::string& path) { ::unlink(path.c_str()); }

Status rewrite_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? Status::ok() : system_error("cannot open " + path, errno);
  char bytes[16 * 1024];
  ssize_t got = 0;
  for (off_t at = 0; (got = ::pread(fd, bytes, sizeof bytes, at)) > 0; at += got) {
    if (::pwrite(fd, bytes, static_cast<std::size_t>(got), at) != got) {
      got = -1;
      break;
    }
  }
  if (got == 0 && ::fdatasync(fd) != 0) got = -1;
  const int number = errno;
  ::close(fd);
  return got == 0 ? Status::ok() : system_error("cannot write " + path + " again", number);
}

std::uint64_t free_disk_bytes(const std::string& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

Status sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open directory " + directory, errno);
  const int number = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return number == 0 ? Status::ok() : system_error("cannot sync directory " + directory, number);
}

Result<std::string> set_aside(const std::string& path, Millis wall) {
  const std::string stem = path + ".aside-" + utc_stamp(wall);
  std::string name = stem;
  for (int again = 2; exists(name); ++again) name = stem + "-" + std::to_string(again);
  // The file first: SQLite removes a log without its file, but would take an older file without its log for whole.
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string from = path + suffix;
    if (!exists(from)) continue;
    const std::string to = name + suffix;
    if (std::rename(from.c_str(), to.c_str()) != 0) {
      return system_error("cannot rename " + from + " to " + to, errno);
    }
  }
  if (Status synced = sync_directory_of(path); !synced.is_success()) return synced;
  return name;
}

}  // namespace berth
