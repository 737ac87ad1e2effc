#include "storage/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace berth {

namespace {

const std::string kAside = ".aside-";
constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};  // of the files that make up a store

Status system_error(const std::string& what, int number) { return Status::error(what + ": " + std::strerror(number)); }

std::string utc_stamp(Millis wall) {
  const std::time_t seconds = static_cast<std::time_t>(wall / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
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

Status replace_private_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + kUnfinished;
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot open " + fresh, errno);
  const bool is_whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  Status written = is_whole ? Status::ok() : system_error("cannot write " + fresh, errno);
  ::close(fd);
  if (!is_whole) return written;
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return system_error("cannot rename " + fresh, errno);
  return sync_directory_of(path);
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
  return got == 0 ? Status::ok() : system_error("cannot rewrite " + path, number);
}

std::uint64_t bytes_written_by_process() {
  std::FILE* file = std::fopen("/proc/self/io", "re");
  if (file == nullptr) return 0;
  char text[256];
  const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[size] = '\0';
  const char* found = std::strstr(text, "wchar: ");
  return found == nullptr ? 0 : std::strtoull(found + std::strlen("wchar: "), nullptr, 10);
}

std::uint64_t free_disk_bytes(const std::string& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

Status sync_directory_of(const std::string& path) {
  const std::string directory = directory_of(path);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open directory " + directory, errno);
  const int number = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return number == 0 ? Status::ok() : system_error("cannot sync directory " + directory, number);
}

Result<std::string> set_aside(const std::string& path, Millis wall) {
  const std::string stem = path + kAside + utc_stamp(wall);
  std::string name = stem;
  for (int again = 2; exists(name); ++again) name = stem + "-" + std::to_string(again);
  // The database file first: SQLite removes a log without its database, but would accept a database without its log as
  // complete.
  for (const char* suffix : kSuffixes) {
    const std::string from = path + suffix;
    const std::string to = name + suffix;
    if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
      return system_error("cannot rename " + from + " to " + to, errno);
    }
  }
  if (Status synced = sync_directory_of(path); !synced.is_success()) return synced;
  std::vector<std::string> earlier = stores_aside(path);
  std::erase(earlier, name);  // if the clock was set back, the store just renamed must still be kept
  for (std::size_t at = 0; at + kStoresAside <= earlier.size(); ++at) {
    for (const char* suffix : kSuffixes) remove_file(earlier[at] + suffix);
  }
  return name;
}

std::vector<std::string> stores_aside(const std::string& path) {
  std::vector<std::string> found;
  DIR* directory = ::opendir(directory_of(path).c_str());
  if (directory == nullptr) return found;
  const std::size_t slash = path.rfind('/');
  const std::string stem = (slash == std::string::npos ? path : path.substr(slash + 1)) + kAside;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with(stem) || name.ends_with("-wal") || name.ends_with("-shm")) continue;
    found.push_back(path + kAside + std::string(name.substr(stem.size())));
  }
  ::closedir(directory);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace berth
