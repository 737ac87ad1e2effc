#include "firmware-host/agent/container_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace berth {

ContainerLog::~ContainerLog() {
  if (fd_ >= 0) close(fd_);
}

void ContainerLog::open_file() {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  struct stat found{};
  bytes_ = fd_ >= 0 && fstat(fd_, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
}

void ContainerLog::append(std::string_view output) {
  while (!output.empty()) {
    if (fd_ < 0) open_file();
    if (fd_ < 0) return;
    if (bytes_ >= kFileBytesMax) {
      close(fd_);
      fd_ = -1;
      if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return;
      continue;
    }
    const std::string_view part = output.substr(0, kFileBytesMax - bytes_);
    const ssize_t written = write(fd_, part.data(), part.size());
    if (written <= 0) return;
    bytes_ += static_cast<std::size_t>(written);
    output.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace berth
