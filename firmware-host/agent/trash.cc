#include "firmware-host/agent/trash.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace berth {

Result<std::vector<std::string>> Trash::open() const {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return Status::error("runtime directory " + directory_ + ": " + error.message());
  std::vector<std::string> left;
  for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    left.push_back(at->path().string());
  }
  if (error) return Status::error("runtime directory " + directory_ + ": " + error.message());
  return left;
}

Result<std::string> Trash::move(const std::string& directory) {
  // Another process of this pid may have left one of this number.
  std::string place = directory_ + "/" + std::to_string(getpid()) + "." + std::to_string(std::time(nullptr)) + "." +
                      std::to_string(++moved_);
  if (std::rename(directory.c_str(), place.c_str()) == 0) return place;
  if (errno == ENOENT) return std::string();
  return Status::error("cannot move " + directory + " away: " + std::strerror(errno));
}

}  // namespace berth
