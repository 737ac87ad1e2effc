#include "storage/sqlite_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/paths.h"
#include "storage/schema.h"

namespace berth {

namespace {

constexpr std::int64_t kApplicationId = 0x42525448;  // "BRTH"
constexpr std::uint64_t kLargestMessage = 64 * 1024;

// Step n brings a store of version n to version n + 1.
constexpr std::array<const char*, SqliteStore::kSchemaVersion> kMigrations{kSchemaSql};

// secure_delete: Debian's SQLite overwrites freed pages by default, which doubles the wear of a fold.
constexpr char kConfiguration[] = R"(
  PRAGMA page_size = 4096;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 8388608;
  PRAGMA secure_delete = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -2048;
  PRAGMA trusted_schema = OFF;
)";

OpenError open_error(const std::string& path, const DatabaseError& error) {
  switch (error.kind) {
    case DatabaseError::Kind::locked:
      return {OpenError::Kind::locked, "store " + path +
                                           " is in use by another process: stop that one, or give this one another "
                                           "state directory"};
    case DatabaseError::Kind::corrupt:
      return {OpenError::Kind::corrupt, "store " + path + " is damaged: " + error.message};
    case DatabaseError::Kind::full:
      return {OpenError::Kind::io, "store " + path + " cannot be opened: the disk is full: free some space"};
    case DatabaseError::Kind::io: break;
  }
  return {OpenError::Kind::io, "store " + path + " cannot be opened: " + error.message +
                                   ": check that its directory exists and can be written"};
}

Change change_of(const Database::Query& row) {
  Change change;
  change.op = static_cast<Op>(row.integer(0));
  change.table = static_cast<Table>(row.integer(1));
  change.key = row.text(2);
  change.value = row.text(3);
  change.phase = static_cast<int>(row.integer(4));
  return change;
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
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, log, options, std::move(*database)));
  if (auto known = store->check_identity(); !known) return std::unexpected(known.error());
  // Now that the file is locked. An earlier process may have ended because a sync of the log failed.
  if (const Status rewritten = rewrite_file(path + "-wal"); !rewritten.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, rewritten.message()}));
  }
  for (const auto step : {&SqliteStore::configure, &SqliteStore::migrate, &SqliteStore::prepare_statements,
                          &SqliteStore::read_positions, &SqliteStore::measure}) {
    if (const auto done = (store.get()->*step)(); !done) return std::unexpected(open_error(path, done.error()));
  }
  store->hold_reserve();
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
      fold_at_(options.fold_entries) {}

SqliteStore::~SqliteStore() = default;

// Reads only: a store of a newer program must not be touched, not even its header.
std::expected<void, OpenError> SqliteStore::check_identity() {
  const auto failed = [this](const DatabaseError& error) { return std::unexpected(open_error(path_, error)); };
  // Without it a second process could read between two commits.
  if (const auto locked = database_->execute("PRAGMA locking_mode = EXCLUSIVE"); !locked) return failed(locked.error());
  const auto version = database_->integer("PRAGMA user_version");
  if (!version) return failed(version.error());
  const auto application = database_->integer("PRAGMA application_id");
  if (!application) return failed(application.error());
  const auto tables = database_->integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failed(tables.error());
  if (*tables > 0 && *application != kApplicationId) {
    return failed({DatabaseError::Kind::corrupt, "it is a database of another program"});
  }
  if (*version > kSchemaVersion) {
    return std::unexpected(
        OpenError{OpenError::Kind::newer, "store " + path_ + " has version " + std::to_string(*version) +
                                              ", this program knows versions up to " + std::to_string(kSchemaVersion) +
                                              ": run the newer program, or restore the store it was made from"});
  }
  if (const auto sound = check_pages(); !sound) return failed(sound.error());
  return {};
}

// quick_check takes a page that cannot be read now, or for want of memory, for a damaged one. Such a fault shows itself
// as what it is in a plain reading, or passes; a store must not be set aside for it.
DatabaseResult<void> SqliteStore::check_pages() {
  std::string complaint;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto check = database_->text("PRAGMA quick_check(1)");
    if (!check) return std::unexpected(check.error());
    if (*check == "ok") return {};
    complaint = *check;
    for (const char* sql :
         {"SELECT max(length(key || value)) FROM journal", "SELECT max(length(key || value)) FROM record"}) {
      const auto read = database_->integer(sql);
      if (!read && read.error().kind == DatabaseError::Kind::io) return std::unexpected(read.error());
    }
  }
  return std::unexpected(DatabaseError{DatabaseError::Kind::corrupt, complaint});
}

DatabaseResult<void> SqliteStore::configure() {
  if (auto configured = database_->execute(kConfiguration); !configured) return configured;
  // An empty transaction takes the lock, for good.
  if (auto locked = database_->execute("BEGIN EXCLUSIVE; COMMIT"); !locked) return locked;
  return limit_pages(options_.bytes_max / kPageBytes);
}

DatabaseResult<void> SqliteStore::migrate() {
  const auto version = database_->integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version == kSchemaVersion) return {};
  std::string sql = "BEGIN IMMEDIATE;\n";
  for (auto step = static_cast<std::size_t>(*version); step < kMigrations.size(); ++step) sql += kMigrations.at(step);
  sql += "PRAGMA application_id = " + std::to_string(kApplicationId) + ";\n";
  sql += "PRAGMA user_version = " + std::to_string(kSchemaVersion) + ";\nCOMMIT;";
  return database_->execute(sql);
}

DatabaseResult<void> SqliteStore::prepare_statements() {
  const std::pair<Database::Query*, const char*> statements[] = {
      {&append_, "INSERT INTO journal (position, op, tbl, key, value, phase) VALUES (?, ?, ?, ?, ?, ?)"},
      {&record_put_,
       "INSERT INTO record (tbl, key, value, phase) VALUES (?, ?, ?, 0) "
       "ON CONFLICT (tbl, key) DO UPDATE SET value = excluded.value"},
      {&record_begin_,
       "INSERT INTO record (tbl, key, value, phase) VALUES (?, ?, ?, ?) "
       "ON CONFLICT (tbl, key) DO UPDATE SET value = excluded.value, phase = excluded.phase"},
      {&record_advance_, "UPDATE record SET phase = ? WHERE tbl = ? AND key = ?"},
      {&record_erase_, "DELETE FROM record WHERE tbl = ? AND key = ?"},
      {&page_count_, "PRAGMA page_count"},
      {&free_count_, "PRAGMA freelist_count"},
  };
  for (const auto& [query, sql] : statements) {
    auto prepared = database_->prepare(sql);
    if (!prepared) return std::unexpected(prepared.error());
    *query = std::move(*prepared);
  }
  return {};
}

DatabaseResult<void> SqliteStore::read_positions() {
  const auto folded = database_->integer("SELECT position FROM folded");
  if (!folded) return std::unexpected(folded.error());
  const auto last = database_->integer("SELECT max(position) FROM journal");
  if (!last) return std::unexpected(last.error());
  position_ = static_cast<std::uint64_t>(std::max(*folded, *last));
  const auto entries = database_->integer("SELECT count(*) FROM journal");
  if (!entries) return std::unexpected(entries.error());
  journal_entries_ = static_cast<std::uint64_t>(*entries);
  return {};
}

Result<std::vector<Record>> SqliteStore::load() {
  Contents contents;
  auto records = database_->prepare("SELECT tbl, key, value, phase FROM record ORDER BY tbl, key");
  if (!records) return fail(records.error());
  for (;;) {
    const auto row = records->step();
    if (!row) return fail(row.error());
    if (!*row) break;
    Content content{records->text(2), static_cast<int>(records->integer(3))};
    contents.emplace_hint(contents.end(), std::pair{static_cast<Table>(records->integer(0)), records->text(1)},
                          std::move(content));
  }
  auto journal = read_journal();
  if (!journal) return fail(journal.error());
  for (Change& change : *journal) apply(contents, std::move(change));
  if (const auto tidied = tidy(); !tidied) return fail(tidied.error());
  return to_records(std::move(contents));
}

DatabaseResult<std::vector<Change>> SqliteStore::read_journal() {
  std::vector<Change> changes;
  auto rows = database_->prepare("SELECT op, tbl, key, value, phase FROM journal ORDER BY position");
  if (!rows) return std::unexpected(rows.error());
  for (;;) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return changes;
    changes.push_back(change_of(*rows));
    const Op op = changes.back().op;
    if (op < Op::put || op > Op::advance) {
      return std::unexpected(DatabaseError{DatabaseError::Kind::corrupt, "a journal entry has an unknown operation"});
    }
  }
}

void SqliteStore::stage(Change change) {
  staged_bytes_ += change.key.size() + change.value.size() + 16;
  staged_.push_back(std::move(change));
}

void SqliteStore::put(Table table, const std::string& key, const std::string& value) {
  stage({Op::put, table, key, value, 0});
}

void SqliteStore::erase(Table table, const std::string& key) { stage({Op::erase, table, key, {}, 0}); }

std::uint64_t SqliteStore::next_position() const { return position_ + staged_.size() + 1; }

// Asks the disk anew: others may have made room since, and no commit may come to notice it.
Status SqliteStore::full_unless(std::uint64_t bytes) {
  if (!reserve_held_) hold_reserve();
  if (has_space_for(bytes)) return Status::ok();
  if (!has_disk()) return Status::unschedulable("store is full: no space left on the disk of " + path_);
  return Status::unschedulable("store is full: " + path_ + " holds " + std::to_string(used_pages_ * kPageBytes / 1024) +
                               " KiB of at most " + std::to_string(options_.bytes_max / 1024) + " KiB");
}

Status SqliteStore::room() { return full_unless(kLargestMessage); }

Status SqliteStore::begin(const std::string& key, const std::string& value, int phase) {
  if (Status has = full_unless(key.size() + value.size()); !has.is_success()) return has;
  stage({Op::begin, Table::row, key, value, phase});
  return Status::ok();
}

void SqliteStore::advance(const std::string& key, int phase) { stage({Op::advance, Table::row, key, {}, phase}); }

bool SqliteStore::is_full() const { return !has_space_for(kLargestMessage); }

bool SqliteStore::has_space_for(std::uint64_t bytes) const {
  // Twice: a page of the journal is seldom filled to the brim, and a fold needs room of its own.
  const std::uint64_t pages = (staged_bytes_ + bytes) * 2 / kPageBytes + 1;
  return has_disk() && used_pages_ + pages + reserve_pages() <= options_.bytes_max / kPageBytes;
}

// Beside the reserve file: others write to the disk too, and what the reserve gives back they could take.
bool SqliteStore::has_disk() const { return reserve_held_ && free_disk_bytes(path_) >= options_.reserve_bytes; }

Status SqliteStore::commit() {
  if (failed_) return Status::error("store " + path_ + " failed before: restart and load it again");
  if (staged_.empty()) return Status::ok();
  auto written = transact(&SqliteStore::append_staged);
  if (!written && written.error().kind == DatabaseError::Kind::full) {
    release_reserve();
    written = transact(&SqliteStore::append_staged);
  }
  if (!written) return fail(written.error());
  position_ += staged_.size();
  journal_entries_ += staged_.size();
  journal_bytes_ += staged_bytes_;
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

DatabaseResult<void> SqliteStore::transact(DatabaseResult<void> (SqliteStore::*steps)()) {
  auto done = database_->execute("BEGIN IMMEDIATE");
  if (done) done = (this->*steps)();
  if (done) done = database_->execute("COMMIT");
  // SQLite may have rolled back already, and says so with an error of no interest.
  if (!done) static_cast<void>(database_->execute("ROLLBACK"));
  return done;
}

DatabaseResult<void> SqliteStore::append_staged() {
  std::uint64_t position = position_;
  for (const Change& change : staged_) {
    append_.bind(0, static_cast<std::int64_t>(++position));
    append_.bind(1, static_cast<std::int64_t>(change.op));
    append_.bind(2, static_cast<std::int64_t>(change.table));
    append_.bind_text(3, change.key);
    if (change.op == Op::put || change.op == Op::begin) append_.bind_blob(4, change.value);
    append_.bind(5, change.phase);
    if (auto ran = append_.run(); !ran) return ran;
  }
  return {};
}

// The journal goes first: its pages are what the records grow into.
DatabaseResult<void> SqliteStore::fold_journal() {
  const auto journal = read_journal();
  if (!journal) return std::unexpected(journal.error());
  if (auto emptied = database_->execute("DELETE FROM journal"); !emptied) return emptied;
  for (const Change& change : *journal) {
    if (auto recorded = record_change(change); !recorded) return recorded;
  }
  return database_->execute("UPDATE folded SET position = " + std::to_string(position_));
}

DatabaseResult<void> SqliteStore::record_change(const Change& change) {
  const auto table = static_cast<std::int64_t>(change.table);
  switch (change.op) {
    case Op::put: return record_put_.bind(0, table).bind_text(1, change.key).bind_blob(2, change.value).run();
    case Op::begin:
      return record_begin_.bind(0, table)
          .bind_text(1, change.key)
          .bind_blob(2, change.value)
          .bind(3, change.phase)
          .run();
    case Op::advance: return record_advance_.bind(0, change.phase).bind(1, table).bind_text(2, change.key).run();
    case Op::erase: return record_erase_.bind(0, table).bind_text(1, change.key).run();
  }
  return {};
}

bool SqliteStore::fold_is_due() const {
  if (journal_entries_ == 0) return false;
  if (journal_entries_ >= fold_at_) return true;
  if (fold_at_ > options_.fold_entries) return false;  // the last one found no space
  // What was erased frees its space only here.
  return journal_bytes_ >= options_.fold_bytes || (is_full() && journal_entries_ > options_.fold_entries / 16);
}

DatabaseResult<void> SqliteStore::tidy() {
  if (fold_is_due()) {
    if (const auto folded = transact(&SqliteStore::fold_journal)) {
      journal_entries_ = journal_bytes_ = 0;
      fold_at_ = options_.fold_entries;
    } else if (folded.error().kind == DatabaseError::Kind::full) {
      fold_at_ = std::max(journal_entries_, options_.fold_entries) + options_.fold_entries / 16 + 1;  // later
      log_.write(Level::warn, "store has no space to fold its journal", {{"store", path_}});
    } else {
      return folded;
    }
  }
  if (const auto moved = database_->checkpoint(static_cast<int>(options_.checkpoint_bytes / kPageBytes)); !moved) {
    if (moved.error().kind != DatabaseError::Kind::full) return moved;
    release_reserve();
  }
  if (auto measured = measure(); !measured) return measured;
  if (!reserve_held_) hold_reserve();
  return {};
}

DatabaseResult<void> SqliteStore::measure() {
  std::int64_t counts[2] = {};
  Database::Query* const queries[2] = {&page_count_, &free_count_};
  for (int i = 0; i < 2; ++i) {
    const auto row = queries[i]->step();
    if (!row) return std::unexpected(row.error());
    if (*row) counts[i] = queries[i]->integer(0);
    queries[i]->rewind();
  }
  file_pages_ = static_cast<std::uint64_t>(counts[0]);
  used_pages_ = static_cast<std::uint64_t>(counts[0] - counts[1]);
  return {};
}

void SqliteStore::hold_reserve() {
  if (used_pages_ + reserve_pages() > options_.bytes_max / kPageBytes) return;
  if (!allocate_file(reserve_path(), options_.reserve_bytes).is_success()) return;
  reserve_held_ = true;
  reserve_used_ = false;
  if (const auto limited = limit_pages(options_.bytes_max / kPageBytes); !limited) {
    log_.write(Level::warn, "store limit not set", {{"store", path_}, {"reason", limited.error().message}});
  }
}

// Two things may be full, the disk and the file's own limit: give way in both.
void SqliteStore::release_reserve() {
  if (reserve_used_) return;
  reserve_used_ = true;
  log_.write(Level::error, "store is full, using its reserve", {{"store", path_}});
  reserve_held_ = false;
  remove_file(reserve_path());
  if (const auto limited = limit_pages(file_pages_ + reserve_pages()); !limited) {
    log_.write(Level::warn, "store limit not set", {{"store", path_}, {"reason", limited.error().message}});
  }
  // An emptied log is written over from its beginning and needs no space.
  if (const auto moved = database_->checkpoint(1); !moved) {
    log_.write(Level::warn, "store log not moved", {{"store", path_}, {"reason", moved.error().message}});
  }
}

DatabaseResult<void> SqliteStore::limit_pages(std::uint64_t pages) {
  return database_->execute("PRAGMA max_page_count = " + std::to_string(pages));
}

}  // namespace berth
