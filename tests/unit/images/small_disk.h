// A disk of a test's own, so small that it is full soon: a tmpfs.
#pragma once

#include <sys/mount.h>

#include <cstdint>
#include <string>

namespace berth {

class SmallDisk {
 public:
  // On a directory that exists.
  SmallDisk(std::string directory, std::int64_t bytes) : directory_(std::move(directory)) {
    const std::string options = "size=" + std::to_string(bytes);
    is_mounted_ = mount("tmpfs", directory_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) umount2(directory_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }

 private:
  const std::string directory_;
  bool is_mounted_ = false;
};

}  // namespace berth
