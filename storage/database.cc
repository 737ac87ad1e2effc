#include "storage/database.h"

#include <sqlite3.h>

#include <algorithm>

namespace berth {

namespace {

DatabaseError error_of(sqlite3* connection) {
  DatabaseError error;
  error.message = sqlite3_errmsg(connection);
  switch (sqlite3_errcode(connection) & 0xff) {
    case SQLITE_FULL: error.kind = DatabaseError::Kind::full; break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: error.kind = DatabaseError::Kind::locked; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: error.kind = DatabaseError::Kind::corrupt; break;
    default: error.kind = DatabaseError::Kind::io; break;
  }
  if (const int number = sqlite3_system_errno(connection); number != 0 && error.kind == DatabaseError::Kind::io) {
    error.message += " (errno " + std::to_string(number) + ")";
  }
  return error;
}

}  // namespace

void Database::Query::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Query& Database::Query::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
  return *this;
}

Database::Query& Database::Query::bind_text(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), parameter + 1, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Database::Query& Database::Query::bind_blob(int parameter, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), parameter + 1, value.data(), value.size(), SQLITE_STATIC);
  return *this;
}

DatabaseResult<bool> Database::Query::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    DatabaseError error = error_of(sqlite3_db_handle(statement_.get()));
    rewind();
    return std::unexpected(std::move(error));
  }
  rewind();
  return false;
}

DatabaseResult<void> Database::Query::run() {
  for (;;) {
    const auto row = step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
  }
}

void Database::Query::rewind() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::int64_t Database::Query::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view Database::Query::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

DatabaseResult<std::unique_ptr<Database>> Database::open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  std::unique_ptr<Database> database(new Database(connection));
  if (code != SQLITE_OK) {
    if (connection == nullptr) return std::unexpected(DatabaseError{DatabaseError::Kind::io, "out of memory"});
    return std::unexpected(error_of(connection));
  }
  // Replaces SQLite's automatic checkpoint (PRAGMA wal_autocheckpoint would in turn replace this hook).
  sqlite3_wal_hook(
      connection,
      [](void* self, sqlite3*, const char*, int frames) {
        static_cast<Database*>(self)->log_frames_ = frames;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

Database::~Database() = default;

DatabaseResult<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(error_of(connection_.get()));
}

DatabaseResult<void> Database::transact(const std::function<DatabaseResult<void>()>& steps) {
  auto done = execute("BEGIN IMMEDIATE");
  if (done) done = steps();
  if (done) done = execute("COMMIT");
  // If SQLite has already rolled back, this fails, which does not matter.
  if (done) return done;
  [[maybe_unused]] const auto undone = execute("ROLLBACK");
  return done;
}

DatabaseResult<Database::Query> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const std::string text(sql);
  const int length = static_cast<int>(text.size());
  if (sqlite3_prepare_v2(connection_.get(), text.c_str(), length, &statement, nullptr) != SQLITE_OK) {
    return std::unexpected(error_of(connection_.get()));
  }
  Query query;
  query.statement_.reset(statement);
  return query;
}

DatabaseResult<std::int64_t> Database::integer(std::string_view sql) {
  auto query = prepare(sql);
  if (!query) return std::unexpected(query.error());
  const auto row = query->step();
  if (!row) return std::unexpected(row.error());
  return *row ? query->integer(0) : 0;
}

DatabaseResult<std::string> Database::text(std::string_view sql) {
  auto query = prepare(sql);
  if (!query) return std::unexpected(query.error());
  const auto row = query->step();
  if (!row) return std::unexpected(row.error());
  return *row ? query->text(0) : std::string();
}

DatabaseResult<void> Database::checkpoint(int frames) {
  if (log_frames_ < frames) return {};
  const int code = sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(connection_.get()));
  log_frames_ = 0;
  return {};
}

DatabaseResult<void> Database::empty_log() {
  const int code = sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(connection_.get()));
  log_frames_ = 0;
  return {};
}

DatabaseResult<std::string> Database::read_file(std::uint64_t offset, std::size_t bytes) const {
  return read(SQLITE_FCNTL_FILE_POINTER, offset, bytes);
}

DatabaseResult<std::string> Database::read_log(std::uint64_t offset, std::size_t bytes) const {
  return read(SQLITE_FCNTL_JOURNAL_POINTER, offset, bytes);
}

DatabaseResult<std::string> Database::read(int file_control, std::uint64_t offset, std::size_t bytes) const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection_.get(), "main", file_control, static_cast<void*>(&file));
  if (file == nullptr || file->pMethods == nullptr) return std::string();  // there is no log
  sqlite3_int64 size = 0;
  int code = file->pMethods->xFileSize(file, &size);
  const std::uint64_t left = static_cast<std::uint64_t>(size) - std::min(static_cast<std::uint64_t>(size), offset);
  std::string got(std::min<std::uint64_t>(left, bytes), '\0');
  if (code == SQLITE_OK && !got.empty()) {
    code = file->pMethods->xRead(file, got.data(), static_cast<int>(got.size()), static_cast<sqlite3_int64>(offset));
  }
  if (code == SQLITE_OK) return got;
  return std::unexpected(DatabaseError{DatabaseError::Kind::io, sqlite3_errstr(code)});
}

std::uint64_t Database::pages_logged() const {
  int now = 0;
  int highest = 0;
  sqlite3_db_status(connection_.get(), SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0);
  return static_cast<std::uint64_t>(now);
}

}  // namespace berth
