// SqliteStore: the store on flash. A commit appends its changes to a journal (WAL, synchronous=FULL), and there is no
// other table: Journal has the entries and folds them, Space the limits of the file and the reserve for a full disk.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/store.h"
#include "storage/change.h"
#include "storage/database.h"
#include "storage/journal.h"
#include "storage/open_error.h"
#include "storage/schema.h"
#include "storage/space.h"
#include "storage/store_options.h"

namespace berth {

class SqliteStore final : public Store {
 public:
  using Options = StoreOptions;

  static constexpr int kSchemaVersion = berth::kSchemaVersion;
  static constexpr std::uint64_t kPageBytes = Space::kPageBytes;
  static constexpr std::uint64_t kFrameHeadBytes = 24;  // before each page in the log (sqlite.org/fileformat2.html)

  // Creates the file (mode 0600) and its schema if missing. `log` must outlive the store.
  static std::expected<std::unique_ptr<SqliteStore>, OpenError> open(const std::string& path, Log& log,
                                                                     const Options& options);
  static std::expected<std::unique_ptr<SqliteStore>, OpenError> open(const std::string& path, Log& log);
  ~SqliteStore() override;

  Status read(const Visit& visit) override;
  void put(Table table, const std::string& key, const std::string& value) override;
  void erase(Table table, const std::string& key) override;
  std::uint64_t next_position() const override;
  // "Full" as soon as begin() could refuse a row of the maximum size.
  Status capacity() override;
  Status begin(const std::string& key, const std::string& value, int phase) override;
  void advance(const std::string& key, int phase) override;
  Status commit() override;

  // Written since open(): the log and, where the kernel counts it (/proc), the checkpoints.
  std::uint64_t bytes_written() const {
    return space_.bytes_moved() + database_->pages_logged() * (space_.page_bytes() + kFrameHeadBytes);
  }
  std::uint64_t commits() const { return commits_; }
  // Not empty: what was read is older than what was committed, since the write-ahead log is damaged (wal_check.h). The
  // next commit ends that: it must tell.
  const std::string& lost_commits() const { return lost_commits_; }
  // load() or commit() hit a system error: the process must end, restart and read the store again.
  bool has_failed() const { return failed_; }

 private:
  SqliteStore(std::string path, Log& log, const Options& options, std::unique_ptr<Database> database);
  // Brings the file to the current version and reads it.
  DatabaseResult<void> start();
  void stage(Change change);
  // Fold, checkpoint, measure, reserve: the housekeeping after a commit or read.
  DatabaseResult<void> tidy();
  // One step at a time, so that no turn of the loop takes long.
  DatabaseResult<void> fold_what_is_due();
  Status fail(const DatabaseError& error);

  const std::string path_;
  Log& log_;
  const Options options_;
  std::unique_ptr<Database> database_;
  Space space_;
  Journal journal_;
  std::vector<Change> staged_;
  std::uint64_t staged_bytes_ = 0;
  bool failed_ = false;
  std::uint64_t commits_ = 0;
  std::string lost_commits_;
  bool empties_log_ = false;  // of the frames behind the damage, after the next commit
};

}  // namespace berth
