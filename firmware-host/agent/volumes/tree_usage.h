// TreeUsage: what a directory takes on its disk, as du(1) and the kubelet count it (pkg/volume/util/fs DiskUsage): the
// blocks of all files and directories in it, of a file with several names once. What is deleted and still open is not
// seen. For emptyDir.sizeLimit and limits of ephemeral-storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"
#include "firmware-host/agent/volumes/tree_walk.h"

namespace berth {

struct TreeUsage {
  std::int64_t bytes = 0;
  std::int64_t inodes = 0;
};

// One measurement, in steps, so that a loop can do other things in between.
class UsageMeter {
 public:
  explicit UsageMeter(std::string directory);
  UsageMeter(const UsageMeter&) = delete;
  UsageMeter& operator=(const UsageMeter&) = delete;

  // Looks at this many entries at most; none: there are more. After an error, or a result, it is at its end. Code::
  // unresolvable: directories are nested more deeply than TreeWalk::kDeepest.
  Result<std::optional<TreeUsage>> step(int entries);
  // Of what it has looked at.
  const TreeUsage& so_far() const { return usage_; }

 private:
  TreeUsage usage_;
  TreeWalk walk_;
};

}  // namespace berth
