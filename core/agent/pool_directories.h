// PoolDirectories interface (device side): makes and removes the directories of volumes below the roots of pools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

// Why a volume cannot be made at this path.
inline std::string not_made_here(const std::string& path) {
  return path + " is there already and not an empty directory, and this device has not made it: move it away";
}

// While nothing is mounted at a root that demands it, all of them fail, and list() finds nothing.
class PoolDirectories {
 public:
  virtual ~PoolDirectories() = default;
  // Makes the directory `<root>/<volume>`, durably, for at most `bytes` where the file system can limit it. An empty
  // directory of that name will do; the error tells of one that is not, or why none can be made.
  virtual Status make(const std::string& root, const std::string& volume, std::int64_t bytes) = 0;
  // Nothing, or an empty directory, has the name `<root>/<volume>`. The error tells why that cannot be said.
  virtual Result<bool> is_free(const std::string& root, const std::string& volume) = 0;
  // Limits one that is there to `bytes` again, where the file system can and it is not: at each start. The error tells
  // why its pods go on without a limit.
  virtual Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) = 0;
  // Removes at most `entries` of what is in it, and it itself when it is empty; follows no link and stays on the file
  // system of the root. True: it is gone, durably. Called again until then.
  virtual Result<bool> remove(const std::string& root, const std::string& volume, int entries) = 0;
  // The names of the directories below the root.
  virtual std::vector<std::string> list(const std::string& root) = 0;
};

}  // namespace berth
