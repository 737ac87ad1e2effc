// SqliteStore: the store on flash. A commit appends its changes, compressed, to a journal table in one transaction
// (WAL, synchronous=FULL). There is no other table: once enough of the journal is outdated, its oldest entries are
// folded, that is, their live changes are written again at its end and the entries deleted.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "storage/change.h"
#include "storage/database.h"
#include "storage/entry.h"
#include "storage/live.h"

namespace berth {

struct OpenError {
  enum class Kind {
    corrupt,  // damaged, or not a Berth store: call set_aside() (storage/paths.h) and open again
    newer,    // written by a newer program: must not be modified
    locked,   // another process has it open
    io,       // a system error: permissions, missing directory, disk
  };
  Kind kind = Kind::io;
  std::string message;  // names the file and the fix
};

class SqliteStore final : public Store {
 public:
  struct Options {
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

  // 2: a single journal. 3: a pod's record refers to the shape of its manifest (core/objects/pod_record.cc); same
  // tables as 2.
  static constexpr int kSchemaVersion = 3;
  static constexpr std::int64_t kApplicationId = 0x42525448;  // "BRTH"
  // Of new files; older ones keep theirs. A commit writes whole pages, and most commits have a few hundred bytes.
  static constexpr std::uint64_t kPageBytes = 512;
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
    return bytes_moved_ + database_->pages_logged() * (page_bytes_ + kFrameHeadBytes);
  }
  std::uint64_t commits() const { return commits_; }
  // load() or commit() hit a system error: the process must end, restart and read the store again.
  bool has_failed() const { return failed_; }

 private:
  SqliteStore(std::string path, Log& log, const Options& options, std::unique_ptr<Database> database);
  DatabaseResult<void> configure();
  std::expected<void, OpenError> check_identity();
  DatabaseResult<void> check_pages(std::int64_t version);
  DatabaseResult<void> migrate();
  DatabaseResult<void> migrate_version_2();
  DatabaseResult<void> mark();
  DatabaseResult<void> prepare_statements();
  DatabaseResult<void> migrate_version_1();
  DatabaseResult<void> replace_version_1();
  DatabaseResult<void> read_journal();

  void stage(Change change);
  // Runs `steps` in one transaction, which is rolled back if they fail.
  DatabaseResult<void> transact(DatabaseResult<void> (SqliteStore::*steps)());
  DatabaseResult<void> append_staged();
  struct Entry {
    std::int64_t id = 0;
    std::string changes;  // uncompressed
  };
  // An entry without changes records the position only.
  DatabaseResult<std::int64_t> append_entry(std::string_view changes, std::uint64_t position);
  void note_entry(const Entry& entry);
  DatabaseResult<void> fold_oldest();
  DatabaseResult<std::vector<Entry>> read_oldest();
  // Fold, checkpoint, measure, reserve: the housekeeping after a commit or load.
  DatabaseResult<void> tidy();
  DatabaseResult<void> fold_what_is_due();
  bool fold_is_due() const;
  DatabaseResult<void> move_log(std::uint64_t bytes);
  DatabaseResult<void> measure();
  void hold_reserve();
  void release_reserve();
  DatabaseResult<void> limit_pages(std::uint64_t pages);
  Status fail(const DatabaseError& error);
  Status full_unless(std::uint64_t bytes);
  bool is_full() const;
  bool has_space_for(std::uint64_t bytes) const;
  bool has_disk() const;
  std::uint64_t reserve_pages() const { return options_.reserve_bytes / page_bytes_; }
  std::string reserve_path() const { return path_ + "-reserve"; }

  const std::string path_;
  Log& log_;
  const Options options_;
  std::unique_ptr<Database> database_;
  Database::Query append_, oldest_, drop_to_, page_count_, free_count_;

  std::vector<Change> staged_;
  std::uint64_t staged_bytes_ = 0;
  Live live_;
  // From open() to read(): the uncompressed journal entries, and the values of the records, which point into them.
  std::deque<std::string> journal_;
  std::vector<std::string_view> values_;
  std::vector<Entry> written_;  // by the last transaction
  std::vector<Entry> folding_;  // deleted from the journal by the last fold
  std::uint64_t page_bytes_ = kPageBytes;
  std::uint64_t position_ = 0;  // of the last durable change
  std::int64_t last_entry_ = 0;
  std::uint64_t fold_after_ = 0;  // outdated changes before the next attempt, once a fold found no space
  std::uint64_t used_pages_ = 0;  // of the file, without free pages
  std::uint64_t file_pages_ = 0;
  bool reserve_held_ = false;
  bool reserve_used_ = false;  // released; not again until it has been re-created
  bool failed_ = false;
  std::uint64_t commits_ = 0;
  std::uint64_t bytes_moved_ = 0;
};

}  // namespace berth
