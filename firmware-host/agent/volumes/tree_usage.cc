#include "firmware-host/agent/volumes/tree_usage.h"

#include <algorithm>
#include <utility>

namespace berth {

UsageMeter::UsageMeter(std::string directory)
    : walk_(std::move(directory), [this](int, const char*, const struct stat& found) {
        constexpr std::int64_t kBlock = 512;  // of st_blocks, whatever the file system's is
        // Each name of a file counts for its share: remembering which were seen would take memory without bound. All
        // names of a file are below one mount, so they are in the same volume.
        const std::int64_t names = S_ISDIR(found.st_mode) ? 1 : std::max<std::int64_t>(found.st_nlink, 1);
        usage_.bytes += found.st_blocks * kBlock / names;
        ++usage_.inodes;
        return Status::ok();
      }) {}

Result<std::optional<TreeUsage>> UsageMeter::step(int entries) {
  const Result<bool> done = walk_.step(entries);
  if (!done) return done.error();
  return *done ? std::optional<TreeUsage>(usage_) : std::nullopt;
}

}  // namespace berth
