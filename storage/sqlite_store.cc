#include "storage/sqlite_store.h"

#include <utility>

#include "core/check.h"
#include "storage/identity.h"
#include "storage/migration.h"
#include "storage/paths.h"
#include "storage/wal_check.h"

namespace berth {

namespace {

constexpr std::uint64_t kLargestMessage = 64 * 1024;

// secure_delete: Debian's SQLite overwrites freed pages by default, which doubles the wear of a fold.
constexpr char kConfiguration[] = R"(
  PRAGMA page_size = 512;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 8388608;
  PRAGMA secure_delete = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA trusted_schema = OFF;
)";

DatabaseResult<void> configure(Database& database) {
  if (auto configured = database.execute(kConfiguration); !configured) return configured;
  // With locking_mode = EXCLUSIVE an empty transaction takes the lock and keeps it.
  return database.execute("BEGIN EXCLUSIVE; COMMIT");
}

}  // namespace

std::expected<std::unique_ptr<SqliteStore>, OpenError> SqliteStore::open(const std::string& path, Log& log) {
  return open(path, log, Options());
}

std::expected<std::unique_ptr<SqliteStore>, OpenError> SqliteStore::open(const std::string& path, Log& log,
                                                                         const Options& options) {
  if (const Status created = create_private_file(path); !created.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, created.message()}));
  }
  auto database = Database::open(path);
  if (!database) return std::unexpected(open_error(path, database.error()));
  if (auto known = check_identity(**database, path); !known) return std::unexpected(known.error());
  const auto lost_commits = find_lost_commits(**database);
  if (!lost_commits) return std::unexpected(open_error(path, lost_commits.error()));
  // Done once the file is locked: an earlier process may have ended because a sync of the log failed.
  if (const Status rewritten = rewrite_file(path + "-wal"); !rewritten.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, rewritten.message()}));
  }
  if (const auto configured = configure(**database); !configured) {
    return std::unexpected(open_error(path, configured.error()));
  }
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, log, options, std::move(*database)));
  store->lost_commits_ = *lost_commits;
  store->empties_log_ = !lost_commits->empty();
  if (const auto started = store->start(); !started) return std::unexpected(open_error(path, started.error()));
  if (const Status synced = sync_directory_of(path); !synced.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, synced.message()}));
  }
  return store;
}

SqliteStore::SqliteStore(std::string path, Log& log, const Options& options, std::unique_ptr<Database> database)
    : path_(std::move(path)),
      log_(log),
      options_(options),
      database_(std::move(database)),
      space_(path_, options_, *database_, log_),
      journal_(*database_) {}

SqliteStore::~SqliteStore() = default;

DatabaseResult<void> SqliteStore::start() {
  if (auto configured = space_.configure(); !configured) return configured;
  if (auto migrated = migrate(*database_, space_.reserve_path()); !migrated) return migrated;
  if (auto prepared = journal_.prepare_statements(); !prepared) return prepared;
  if (auto prepared = space_.prepare_statements(); !prepared) return prepared;
  if (auto loaded = journal_.load(); !loaded) return loaded;
  if (auto measured = space_.measure(); !measured) return measured;
  space_.hold_reserve();
  return {};
}

Status SqliteStore::read(const Visit& visit) {
  if (Status seen = journal_.visit(visit); !seen.is_success()) return seen;
  if (const auto tidied = tidy(); !tidied) return fail(tidied.error());
  return Status::ok();
}

void SqliteStore::stage(Change change) {
  CHECK(is_storable(change.key.size(), change.phase));
  staged_bytes_ += change.key.size() + change.value.size() + 16;
  staged_.push_back(std::move(change));
}

void SqliteStore::put(Table table, const std::string& key, const std::string& value) {
  stage({Op::put, table, key, value, 0});
}

void SqliteStore::erase(Table table, const std::string& key) { stage({Op::erase, table, key, {}, 0}); }

std::uint64_t SqliteStore::next_position() const { return journal_.position() + staged_.size() + 1; }

Status SqliteStore::capacity() { return space_.check(staged_bytes_ + kLargestMessage); }

Status SqliteStore::begin(const std::string& key, const std::string& value, int phase) {
  if (Status has = space_.check(staged_bytes_ + key.size() + value.size()); !has.is_success()) return has;
  stage({Op::begin, Table::row, key, value, phase});
  return Status::ok();
}

void SqliteStore::advance(const std::string& key, int phase) { stage({Op::advance, Table::row, key, {}, phase}); }

Status SqliteStore::commit() {
  if (failed_) return Status::error("store " + path_ + " failed earlier: restart and load it again");
  if (staged_.empty()) return Status::ok();
  auto written = journal_.commit(staged_);
  if (!written && written.error().kind == DatabaseError::Kind::full) {
    space_.release_reserve();
    written = journal_.commit(staged_);
  }
  if (!written) return fail(written.error());
  staged_.clear();
  staged_bytes_ = 0;
  ++commits_;
  if (const auto tidied = tidy(); !tidied) return fail(tidied.error());
  return Status::ok();
}

Status SqliteStore::fail(const DatabaseError& error) {
  failed_ = true;
  return Status::error("store " + path_ + " failed: " + error.message);
}

DatabaseResult<void> SqliteStore::fold_what_is_due() {
  const auto is_full = [this] { return !space_.has(staged_bytes_ + kLargestMessage); };
  if (!journal_.is_fold_due(options_, is_full)) return {};
  auto folded = journal_.fold();
  if (folded || folded.error().kind != DatabaseError::Kind::full) return folded;
  journal_.postpone_fold(options_.fold_changes / 16 + 1);
  log_.write(Level::warn, "no space to compact the journal of the store", {{"store", path_}});
  return {};
}

DatabaseResult<void> SqliteStore::tidy() {
  // Until a commit tells of the damage in the log, nothing may be written over the frames that prove it. After that
  // they must go, or each start would find them again.
  if (empties_log_ && commits_ == 0) return {};
  if (empties_log_) {
    const auto emptied = database_->empty_log();
    if (!emptied && emptied.error().kind != DatabaseError::Kind::full) return emptied;
    empties_log_ = !emptied;
  }
  if (auto folded = fold_what_is_due(); !folded) return folded;
  if (const auto moved = space_.move_log(options_.checkpoint_bytes); !moved) {
    if (moved.error().kind != DatabaseError::Kind::full) return moved;
    space_.release_reserve();
  }
  if (auto measured = space_.measure(); !measured) return measured;
  space_.hold_reserve();
  return {};
}

}  // namespace berth
