// SqliteStore: the store on flash. A commit appends its changes to a journal table in one transaction (WAL,
// synchronous=FULL); now and then the journal is folded into the record table.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "core/log.h"
#include "storage/change.h"
#include "storage/database.h"

namespace berth {

struct OpenError {
  enum class Kind {
    corrupt,  // damaged, or no store of ours: set_aside() (storage/paths.h) and open again
    newer,    // written by a newer program: nothing here may touch it
    locked,   // another process has it open
    io,       // the system refused: permissions, missing directory, disk
  };
  Kind kind = Kind::io;
  std::string message;  // names the file and the fix
};

class SqliteStore final : public Store {
 public:
  struct Options {
    std::uint64_t bytes_max = 512ull << 20;  // of the file
    std::uint64_t fold_entries = 1000;       // journal entries that cause a fold
    // Held back for advance, erase and put: begin() answers full when less is left, of bytes_max or on the disk. Enough
    // to move the whole log into the file and to fold the whole journal; after that the store lives in what it has.
    std::uint64_t reserve_bytes = 4 << 20;
    std::uint64_t fold_bytes = 1 << 20;        // of the journal that cause a fold
    std::uint64_t checkpoint_bytes = 1 << 20;  // of the log that cause it to be moved into the file
  };

  static constexpr int kSchemaVersion = 1;
  static constexpr std::uint64_t kPageBytes = 4096;

  // Creates the file (mode 0600) and its schema when there is none. `log` outlives the store.
  static std::expected<std::unique_ptr<SqliteStore>, OpenError> open(const std::string& path, Log& log,
                                                                     const Options& options);
  static std::expected<std::unique_ptr<SqliteStore>, OpenError> open(const std::string& path, Log& log);
  ~SqliteStore() override;

  Result<std::vector<Record>> load() override;
  void put(Table table, const std::string& key, const std::string& value) override;
  void erase(Table table, const std::string& key) override;
  std::uint64_t next_position() const override;
  // Full from where begin() might be refused for a row of the largest size.
  Status room() override;
  Status begin(const std::string& key, const std::string& value, int phase) override;
  void advance(const std::string& key, int phase) override;
  Status commit() override;

  // Written to the log since open(), in bytes. Checkpoints come on top: each page that changed once more per MiB of
  // log.
  std::uint64_t bytes_logged() const { return database_->pages_logged() * kPageBytes; }
  std::uint64_t commits() const { return commits_; }

 private:
  SqliteStore(std::string path, Log& log, const Options& options, std::unique_ptr<Database> database);
  DatabaseResult<void> configure();
  std::expected<void, OpenError> check_identity();
  DatabaseResult<void> check_pages();
  DatabaseResult<void> migrate();
  DatabaseResult<void> prepare_statements();
  DatabaseResult<void> read_positions();

  void stage(Change change);
  // Runs `steps` in one transaction; rolled back when one fails.
  DatabaseResult<void> transact(DatabaseResult<void> (SqliteStore::*steps)());
  DatabaseResult<void> append_staged();
  DatabaseResult<void> fold_journal();
  // Fold, checkpoint, measure, reserve: whatever is due after a commit or a load.
  DatabaseResult<void> tidy();
  bool fold_is_due() const;
  DatabaseResult<std::vector<Change>> read_journal();
  DatabaseResult<void> record_change(const Change& change);
  DatabaseResult<void> measure();
  void hold_reserve();
  void release_reserve();
  DatabaseResult<void> limit_pages(std::uint64_t pages);
  Status fail(const DatabaseError& error);
  Status full_unless(std::uint64_t bytes);
  bool is_full() const;
  bool has_space_for(std::uint64_t bytes) const;
  bool has_disk() const;
  std::uint64_t reserve_pages() const { return options_.reserve_bytes / kPageBytes; }
  std::string reserve_path() const { return path_ + "-reserve"; }

  const std::string path_;
  Log& log_;
  const Options options_;
  std::unique_ptr<Database> database_;
  Database::Query append_, record_put_, record_begin_, record_advance_, record_erase_, page_count_, free_count_;

  std::vector<Change> staged_;
  std::uint64_t staged_bytes_ = 0;
  std::uint64_t position_ = 0;  // of the last durable change
  std::uint64_t journal_entries_ = 0;
  std::uint64_t journal_bytes_ = 0;
  std::uint64_t fold_at_ = 0;     // journal entries; grows while a fold finds no space
  std::uint64_t used_pages_ = 0;  // of the file, without its free ones
  std::uint64_t file_pages_ = 0;
  bool reserve_held_ = false;
  bool reserve_used_ = false;  // at most once until it is held again
  bool failed_ = false;
  std::uint64_t commits_ = 0;
};

}  // namespace berth
