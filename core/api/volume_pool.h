// VolumePool: a directory of a device below which it makes the volumes of one StorageClass.
#pragma once

#include <string>
#include <string_view>

#include "core/api/quantity.h"

namespace berth {

struct VolumePool {
  std::string storage_class;  // each device has at most one pool of a class
  std::string root;           // an absolute path without "..", and without a '/' at its end
  Quantity capacity;          // bytes, of all volumes in it
  bool is_limited = false;    // pods can write to a volume no more than its claim asks for
  bool operator==(const VolumePool&) const = default;
};

inline constexpr std::size_t kMaxPools = 32;  // of one device

inline bool is_pool_root(std::string_view path) {
  return path.size() > 1 && path.starts_with('/') && !path.ends_with('/') &&
         (std::string(path) + "/").find("/../") == std::string::npos;
}

// Where the volume of this name is.
inline std::string path_in(const VolumePool& pool, const std::string& volume) { return pool.root + "/" + volume; }

}  // namespace berth
