#include "firmware-host/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace berth {

namespace {

constexpr Millis kLockPause = 50;

}  // namespace

Result<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || (!std::getline(file, line) && !file.eof())) {
    return Status::error("cannot read " + path + ": " + std::strerror(errno));
  }
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return std::string();
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

Result<std::string> read_if_any(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::string();
  Result<std::string> line = read_first_line(path);
  if (line) std::erase(*line, '\0');
  return line;
}

Result<std::string> boot_id() { return read_first_line("/proc/sys/kernel/random/boot_id"); }

Result<StateDirectory> StateDirectory::open(const std::string& path, const Pause& pause) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Status::error("state directory " + path + ": " + error.message());
  if (chmod(path.c_str(), 0750) != 0) {
    return Status::error("state directory " + path + ": cannot protect it: " + std::strerror(errno));
  }
  const std::string lock_path = path + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (lock < 0) return Status::error("state directory: cannot open " + lock_path + ": " + std::strerror(errno));
  StateDirectory state(path, lock);
  for (Millis waited = 0; flock(lock, LOCK_EX | LOCK_NB) != 0; waited += kLockPause) {
    if (errno != EWOULDBLOCK) {
      return Status::error("state directory: cannot lock " + lock_path + ": " + std::strerror(errno));
    }
    if (waited >= kLockPatience) {
      return Status::unschedulable("state directory " + path + ": still in use by another process after " +
                                   std::to_string(kLockPatience / 1000) +
                                   " s; stop that process, or use another --state-dir");
    }
    pause(kLockPause);
  }
  return state;
}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StateDirectory::~StateDirectory() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace berth
