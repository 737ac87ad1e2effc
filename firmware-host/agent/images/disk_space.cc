#include "firmware-host/agent/images/disk_space.h"

#include <sys/statvfs.h>

namespace berth {

namespace {

std::string mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + "Mi"; }

}  // namespace

Status check_space(const std::string& directory, std::int64_t bytes, std::int64_t kept_free) {
  struct statvfs disk{};
  if (statvfs(directory.c_str(), &disk) != 0) return Status::ok();
  const auto available = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
  const std::int64_t left = available - kept_free;
  if (left >= 0 && bytes <= left) return Status::ok();
  constexpr std::int64_t kRoundUp = (1 << 20) - 1;
  return Status::error("insufficient disk: " + (bytes > 0 ? mebibytes(bytes + kRoundUp) + " asked, " : std::string()) +
                       mebibytes(available) + " free, where " + mebibytes(kept_free) +
                       " must stay free (eviction.hard, nodefs.available)");
}

}  // namespace berth
