// Space: how large the file of a store is and may become, the reserve that lets operations in progress finish on a full
// disk, and the write-ahead log that is moved into the file.
#pragma once

#include <cstdint>
#include <string>

#include "core/log.h"
#include "core/status.h"
#include "storage/database.h"
#include "storage/store_options.h"

namespace berth {

class Space {
 public:
  // Of new files; older ones keep theirs. A commit writes whole pages, and most commits have a few hundred bytes.
  static constexpr std::uint64_t kPageBytes = 512;

  // All references must outlive this.
  Space(const std::string& path, const StoreOptions& options, Database& database, Log& log);

  // The file that occupies the reserve on the disk.
  std::string reserve_path() const { return path_ + "-reserve"; }
  // Reads the page size and sets the limit of the file.
  DatabaseResult<void> configure();
  // Once the file has a schema.
  DatabaseResult<void> prepare_statements();
  // Reads the size of the file.
  DatabaseResult<void> measure();
  std::uint64_t page_bytes() const { return page_bytes_; }

  // True if so many bytes can be committed without using the reserve.
  bool has(std::uint64_t bytes) const;
  // The same as a reason for the user: "store is full: ...". Checks the disk again: space may have been freed, and
  // while new objects are refused no commit would notice it.
  Status check(std::uint64_t bytes);

  // Creates the reserve file if it is missing and there is space for it.
  void hold_reserve();
  // Gives the reserve back to the file, once: not again until it has been re-created.
  void release_reserve();
  // Moves the log into the file, once the log has this many bytes.
  DatabaseResult<void> move_log(std::uint64_t bytes);
  // Written by move_log(), where the kernel counts it (/proc).
  std::uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  DatabaseResult<void> limit_pages(std::uint64_t pages);
  bool has_disk() const;
  std::uint64_t pages_max() const { return options_.bytes_max / page_bytes_; }
  std::uint64_t reserve_pages() const { return options_.reserve_bytes / page_bytes_; }

  // With so much to spare on the disk, it is not asked again before the next commit: it is asked for each manifest and
  // each decision.
  static constexpr std::uint64_t kRoomyBytes = 64 << 20;

  const std::string path_;
  const StoreOptions options_;
  Database& database_;
  Log& log_;
  Database::Query page_count_, free_count_;
  std::uint64_t page_bytes_ = kPageBytes;
  std::uint64_t used_pages_ = 0;  // of the file, without free pages
  std::uint64_t file_pages_ = 0;
  mutable bool disk_was_roomy_ = false;  // when asked last, since the last commit
  bool reserve_held_ = false;
  bool reserve_used_ = false;  // released; not again until it has been re-created
  std::uint64_t bytes_moved_ = 0;
};

}  // namespace berth
