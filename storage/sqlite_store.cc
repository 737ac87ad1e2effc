#include "storage/sqlite_store.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "storage/key_order.h"
#include "storage/paths.h"
#include "storage/version_1.h"

namespace berth {

namespace {

constexpr std::uint64_t kLargestMessage = 64 * 1024;
// Of uncompressed changes. Bounds the memory of one entry and the time of one fold.
constexpr std::size_t kEntryBytes = 256 * 1024;

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

// Records are read in key order but lie in memory in the order of their last change, so each one is prefetched some
// records ahead.
constexpr std::size_t kFetchAhead = 8;
void fetch(std::string_view value) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLines = 8;  // the hardware prefetches the rest
  const std::size_t end = std::min(value.size(), kLine * kLines);
  for (std::size_t at = 0; at < end; at += kLine) __builtin_prefetch(value.data() + at);
}

OpenError open_error(const std::string& path, const DatabaseError& error) {
  switch (error.kind) {
    case DatabaseError::Kind::locked:
      return {OpenError::Kind::locked, "store " + path +
                                           " is in use by another process: stop that process, or use another state "
                                           "directory"};
    case DatabaseError::Kind::corrupt:
      return {OpenError::Kind::corrupt, "store " + path + " is damaged: " + error.message};
    case DatabaseError::Kind::full:
      return {OpenError::Kind::io, "store " + path + " cannot be opened: the disk is full; free some space"};
    case DatabaseError::Kind::io: break;
  }
  return {OpenError::Kind::io, "store " + path + " cannot be opened: " + error.message +
                                   "; check that its directory exists and is writable"};
}

DatabaseError damaged_entry(std::int64_t id) {
  return {DatabaseError::Kind::corrupt, "journal entry " + std::to_string(id) + ": wrong checksum or format"};
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
  // Done once the file is locked: an earlier process may have ended because a sync of the log failed.
  if (const Status rewritten = rewrite_file(path + "-wal"); !rewritten.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, rewritten.message()}));
  }
  for (const auto step : {&SqliteStore::configure, &SqliteStore::migrate, &SqliteStore::prepare_statements,
                          &SqliteStore::read_journal, &SqliteStore::measure}) {
    if (const auto done = (store.get()->*step)(); !done) return std::unexpected(open_error(path, done.error()));
  }
  store->hold_reserve();
  if (const Status synced = sync_directory_of(path); !synced.is_success()) {
    return std::unexpected(open_error(path, {DatabaseError::Kind::io, synced.message()}));
  }
  return store;
}

SqliteStore::SqliteStore(std::string path, Log& log, const Options& options, std::unique_ptr<Database> database)
    : path_(std::move(path)), log_(log), options_(options), database_(std::move(database)) {}

SqliteStore::~SqliteStore() = default;

// Reads only: the store of a newer program must not be modified, not even its header.
std::expected<void, OpenError> SqliteStore::check_identity() {
  const auto failed = [this](const DatabaseError& error) { return std::unexpected(open_error(path_, error)); };
  // Without the lock a second process could read between two commits. Each page is read once, so a large cache would
  // only cost memory; a large commit may keep its pages in memory, or some would be written twice.
  const auto locked =
      database_->execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -256; PRAGMA cache_spill = OFF");
  if (!locked) return failed(locked.error());
  const auto version = database_->integer("PRAGMA user_version");
  if (!version) return failed(version.error());
  const auto application = database_->integer("PRAGMA application_id");
  if (!application) return failed(application.error());
  const auto tables = database_->integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failed(tables.error());
  if (*tables > 0 && *application != kApplicationId) {
    return failed({DatabaseError::Kind::corrupt, "it is the database of another program"});
  }
  if (*version > kSchemaVersion) {
    return std::unexpected(
        OpenError{OpenError::Kind::newer, "store " + path_ + " has version " + std::to_string(*version) +
                                              ", this program knows versions up to " + std::to_string(kSchemaVersion) +
                                              ": run the newer program, or restore a backup of the older store"});
  }
  if (const auto sound = check_pages(*version); !sound) return failed(sound.error());
  return {};
}

// quick_check reports a page as damaged when a read fails or memory runs out. A plain read then reports the real error,
// or succeeds; a store must not be set aside because of such an error.
DatabaseResult<void> SqliteStore::check_pages(std::int64_t version) {
  std::string damage;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto check = database_->text("PRAGMA quick_check(1)");
    if (!check) return std::unexpected(check.error());
    if (*check == "ok") return {};
    damage = *check;
    const auto read = version == 1 ? database_->integer(kReadAllOfVersion1)
                                   : database_->integer("SELECT max(length(changes || '')) FROM journal");
    if (!read && read.error().kind == DatabaseError::Kind::io) return std::unexpected(read.error());
  }
  return std::unexpected(DatabaseError{DatabaseError::Kind::corrupt, damage});
}

DatabaseResult<void> SqliteStore::configure() {
  if (auto configured = database_->execute(kConfiguration); !configured) return configured;
  const auto page_bytes = database_->integer("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(page_bytes.error());
  page_bytes_ = static_cast<std::uint64_t>(*page_bytes);
  // With locking_mode = EXCLUSIVE an empty transaction takes the lock and keeps it.
  if (auto locked = database_->execute("BEGIN EXCLUSIVE; COMMIT"); !locked) return locked;
  return limit_pages(options_.bytes_max / page_bytes_);
}

DatabaseResult<void> SqliteStore::prepare_statements() {
  const std::pair<Database::Query*, const char*> statements[] = {
      {&append_, "INSERT INTO journal (id, position, changes) VALUES (?, ?, ?)"},
      {&oldest_, "SELECT id, changes FROM journal ORDER BY id"},
      {&drop_to_, "DELETE FROM journal WHERE id <= ?"},
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

DatabaseResult<void> SqliteStore::read_journal() {
  position_ = 0;
  last_entry_ = 0;
  auto rows = database_->prepare("SELECT id, position, changes FROM journal ORDER BY id");
  if (!rows) return std::unexpected(rows.error());
  for (;;) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    last_entry_ = rows->integer(0);
    position_ = static_cast<std::uint64_t>(rows->integer(1));
    auto changes = open_entry(rows->blob(2));
    if (!changes) return std::unexpected(damaged_entry(last_entry_));
    std::uint32_t number = 0;
    const bool sound =
        each_change(journal_.emplace_back(std::move(*changes)), [this, &number](const ChangeView& change) {
          const Live::Record record = live_.note(last_entry_, number++, change);
          if (record == Live::kNone) return;
          if (record == values_.size()) values_.emplace_back();
          values_[record] = change.value;
        });
    if (!sound) return std::unexpected(damaged_entry(last_entry_));
  }
}

Status SqliteStore::read(const Visit& visit) {
  const std::vector<Live::Record> records = in_order(live_);
  for (std::size_t at = 0; at < records.size(); ++at) {
    if (at + kFetchAhead < records.size()) fetch(values_[records[at + kFetchAhead]]);
    const std::string_view id = live_.id(records[at]);
    const Status seen =
        visit({static_cast<Table>(id[0]), id.substr(1), values_[records[at]], live_.location(records[at]).phase});
    if (!seen.is_success()) return seen;
  }
  std::exchange(values_, std::vector<std::string_view>());  // `= {}` would keep its memory
  std::exchange(journal_, std::deque<std::string>());
  if (const auto tidied = tidy(); !tidied) return fail(tidied.error());
  return Status::ok();
}

void SqliteStore::stage(Change change) {
  CHECK(is_storable(change.key, change.phase));
  staged_bytes_ += change.key.size() + change.value.size() + 16;
  staged_.push_back(std::move(change));
}

void SqliteStore::put(Table table, const std::string& key, const std::string& value) {
  stage({Op::put, table, key, value, 0});
}

void SqliteStore::erase(Table table, const std::string& key) { stage({Op::erase, table, key, {}, 0}); }

std::uint64_t SqliteStore::next_position() const { return position_ + staged_.size() + 1; }

// Checks the disk again: space may have been freed, and while new objects are refused no commit would notice it.
Status SqliteStore::full_unless(std::uint64_t bytes) {
  if (!reserve_held_) hold_reserve();
  if (has_space_for(bytes)) return Status::ok();
  if (!has_disk()) return Status::unschedulable("store is full: no space left on the disk of " + path_);
  return Status::unschedulable("store is full: " + path_ + " holds " +
                               std::to_string(used_pages_ * page_bytes_ / 1024) + " KiB of at most " +
                               std::to_string(options_.bytes_max / 1024) + " KiB");
}

Status SqliteStore::capacity() { return full_unless(kLargestMessage); }

Status SqliteStore::begin(const std::string& key, const std::string& value, int phase) {
  if (Status has = full_unless(key.size() + value.size()); !has.is_success()) return has;
  stage({Op::begin, Table::row, key, value, phase});
  return Status::ok();
}

void SqliteStore::advance(const std::string& key, int phase) { stage({Op::advance, Table::row, key, {}, phase}); }

bool SqliteStore::is_full() const { return !has_space_for(kLargestMessage); }

bool SqliteStore::has_space_for(std::uint64_t bytes) const {
  // Times two: pages of the journal are rarely full, and a fold needs space as well.
  const std::uint64_t pages = (staged_bytes_ + bytes) * 2 / page_bytes_ + 1;
  return has_disk() && used_pages_ + pages + reserve_pages() <= options_.bytes_max / page_bytes_;
}

// Required in addition to the reserve file: other programs write to the disk too, and could take the space that the
// reserve frees. Nobody else can take free pages inside the database file.
bool SqliteStore::has_disk() const {
  const std::uint64_t own = std::min((file_pages_ - used_pages_) * page_bytes_, options_.reserve_bytes);
  return reserve_held_ && free_disk_bytes(path_) >= options_.reserve_bytes - own;
}

Status SqliteStore::commit() {
  if (failed_) return Status::error("store " + path_ + " failed earlier: restart and load it again");
  if (staged_.empty()) return Status::ok();
  auto written = transact(&SqliteStore::append_staged);
  if (!written && written.error().kind == DatabaseError::Kind::full) {
    release_reserve();
    written = transact(&SqliteStore::append_staged);
  }
  if (!written) return fail(written.error());
  position_ += staged_.size();
  for (const Entry& entry : written_) note_entry(entry);
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
  written_.clear();
  auto done = database_->execute("BEGIN IMMEDIATE");
  if (done) done = (this->*steps)();
  if (done) done = database_->execute("COMMIT");
  // If SQLite has already rolled back, this fails, which does not matter.
  if (done) return done;
  [[maybe_unused]] const auto undone = database_->execute("ROLLBACK");
  return done;
}

DatabaseResult<void> SqliteStore::append_staged() {
  ByteWriter changes;
  for (std::size_t at = 0; at < staged_.size(); ++at) {
    const Change& change = staged_[at];
    write_change(changes, change.op, change.table, change.key, change.value, change.phase);
    if (changes.bytes().size() < kEntryBytes && at + 1 < staged_.size()) continue;
    const auto appended = append_entry(changes.bytes(), position_ + at + 1);
    if (!appended) return std::unexpected(appended.error());
    written_.push_back({*appended, changes.take()});
  }
  return {};
}

DatabaseResult<std::int64_t> SqliteStore::append_entry(std::string_view changes, std::uint64_t position) {
  const std::int64_t id = last_entry_ + static_cast<std::int64_t>(written_.size()) + 1;
  const std::string sealed = seal_entry(changes);
  auto ran = append_.bind(0, id).bind(1, static_cast<std::int64_t>(position)).bind_blob(2, sealed).run();
  if (!ran) return std::unexpected(ran.error());
  return id;
}

// `entry` is committed.
void SqliteStore::note_entry(const Entry& entry) {
  last_entry_ = entry.id;
  std::uint32_t number = 0;
  each_change(entry.changes, [&](const ChangeView& change) { live_.note(entry.id, number++, change); });
}

DatabaseResult<std::vector<SqliteStore::Entry>> SqliteStore::read_oldest() {
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  while (bytes < kEntryBytes) {
    const auto row = oldest_.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return entries;
    auto changes = open_entry(oldest_.blob(1));
    if (!changes) return std::unexpected(damaged_entry(oldest_.integer(0)));
    bytes += changes->size();
    entries.push_back({oldest_.integer(0), std::move(*changes)});
  }
  oldest_.rewind();
  return entries;
}

// The oldest entries are deleted first, so that the rewritten changes can use their pages.
DatabaseResult<void> SqliteStore::fold_oldest() {
  folding_ = {};
  auto oldest = read_oldest();
  if (!oldest) {
    oldest_.rewind();
    return std::unexpected(oldest.error());
  }
  if (oldest->empty()) return {};
  ByteWriter kept;
  for (const Entry& entry : *oldest) {
    std::uint32_t number = 0;
    each_change(entry.changes, [&](const ChangeView& change) {
      const Live::Location* live = live_.find(entry.id, number++, change);
      if (live != nullptr) write_change(kept, Op::begin, change.table, change.key, change.value, live->phase);
    });
  }
  const std::int64_t last = oldest->back().id;
  folding_ = std::move(*oldest);
  if (auto dropped = drop_to_.bind(0, last).run(); !dropped) return dropped;
  if (kept.bytes().empty() && last != last_entry_) return {};
  const auto appended = append_entry(kept.bytes(), position_);
  if (!appended) return std::unexpected(appended.error());
  written_.push_back({*appended, kept.take()});
  return {};
}

bool SqliteStore::fold_is_due() const {
  const std::uint64_t dead = live_.dead_changes();
  if (dead <= fold_after_) return false;
  // Only a fold frees the space of erased records.
  if (is_full() && live_.dead_bytes() >= std::min<std::uint64_t>(kEntryBytes / 8, options_.fold_bytes)) return true;
  const auto beyond = [this](std::uint64_t live) { return live * options_.fold_percent / 100; };
  return dead >= options_.fold_changes + beyond(live_.live_changes()) ||
         live_.dead_bytes() >= options_.fold_bytes + beyond(live_.live_bytes());
}

// One step at a time, so that no turn of the loop takes long.
DatabaseResult<void> SqliteStore::fold_what_is_due() {
  if (!fold_is_due()) return {};
  if (const auto folded = transact(&SqliteStore::fold_oldest); !folded) {
    if (folded.error().kind != DatabaseError::Kind::full) return folded;
    fold_after_ = live_.dead_changes() + options_.fold_changes / 16 + 1;  // later
    log_.write(Level::warn, "no space to compact the journal of the store", {{"store", path_}});
    return {};
  }
  fold_after_ = 0;
  for (const Entry& entry : folding_) {
    each_change(entry.changes, [this](const ChangeView& change) { live_.drop(change); });
  }
  for (const Entry& entry : written_) note_entry(entry);
  folding_.clear();
  return {};
}

DatabaseResult<void> SqliteStore::tidy() {
  if (auto folded = fold_what_is_due(); !folded) return folded;
  if (const auto moved = move_log(options_.checkpoint_bytes); !moved) {
    if (moved.error().kind != DatabaseError::Kind::full) return moved;
    release_reserve();
  }
  if (auto measured = measure(); !measured) return measured;
  if (!reserve_held_) hold_reserve();
  return {};
}

// Does nothing until the log has this many bytes.
DatabaseResult<void> SqliteStore::move_log(std::uint64_t bytes) {
  const int frames = static_cast<int>(bytes / page_bytes_ + (bytes % page_bytes_ == 0 ? 0 : 1));
  if (!database_->is_checkpoint_due(frames)) return {};
  const std::uint64_t before = bytes_written_by_process();
  const auto moved = database_->checkpoint(frames);
  bytes_moved_ += bytes_written_by_process() - before;
  return moved;
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
  if (used_pages_ + reserve_pages() > options_.bytes_max / page_bytes_) return;
  if (!allocate_file(reserve_path(), options_.reserve_bytes).is_success()) return;
  reserve_held_ = true;
  reserve_used_ = false;
  if (const auto limited = limit_pages(options_.bytes_max / page_bytes_); !limited) {
    log_.write(Level::warn, "cannot set the size limit of the store",
               {{"store", path_}, {"reason", limited.error().message}});
  }
}

// Either the disk or the file's own limit may be exhausted: give space back in both.
void SqliteStore::release_reserve() {
  if (reserve_used_) return;
  reserve_used_ = true;
  log_.write(Level::error, "store is full, using its reserve", {{"store", path_}});
  reserve_held_ = false;
  remove_file(reserve_path());
  if (const auto limited = limit_pages(file_pages_ + reserve_pages()); !limited) {
    log_.write(Level::warn, "cannot set the size limit of the store",
               {{"store", path_}, {"reason", limited.error().message}});
  }
  // After a checkpoint the log is overwritten from its start and needs no more space.
  if (const auto moved = move_log(1); !moved) {
    log_.write(Level::warn, "checkpoint of the store failed", {{"store", path_}, {"reason", moved.error().message}});
  }
}

DatabaseResult<void> SqliteStore::limit_pages(std::uint64_t pages) {
  return database_->execute("PRAGMA max_page_count = " + std::to_string(pages));
}

}  // namespace berth
