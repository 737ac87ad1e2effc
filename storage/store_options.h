// The limits of a SqliteStore.
#pragma once

#include <cstdint>

namespace berth {

struct StoreOptions {
  std::uint64_t bytes_max = 512ull << 20;  // of the file
  std::uint64_t fold_changes = 1'000;      // outdated changes that trigger a fold; see fold_percent
  // Held back for advance, erase and put: begin() returns "full" when less is left, of bytes_max or on the disk.
  // Enough to checkpoint the whole log and to fold the whole journal; after that the store makes do with the file it
  // has.
  std::uint64_t reserve_bytes = 4 << 20;
  std::uint64_t fold_bytes = 1 << 20;        // outdated bytes that trigger a fold; see fold_percent
  std::uint64_t checkpoint_bytes = 1 << 20;  // size of the log that triggers a checkpoint
  // A fold rewrites live changes, so it waits until, on top of the limits above, this percentage of the live count or
  // bytes is outdated as well. At 100, each byte is rewritten once on average.
  std::uint64_t fold_percent = 100;
};

}  // namespace berth
