// Database: the only code that calls SQLite. One connection, one thread, errors as values.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace berth {

struct DatabaseError {
  enum class Kind { full, locked, corrupt, io };
  Kind kind = Kind::io;
  std::string message;  // as SQLite reports it
};

template <class T>
using DatabaseResult = std::expected<T, DatabaseError>;

class Database {
 public:
  // A prepared statement. Parameters and columns count from 0. Must not outlive its database.
  class Query {
   public:
    // Text and blobs are not copied: they must stay valid until the next rewind().
    Query& bind(int parameter, std::int64_t value);
    Query& bind_text(int parameter, std::string_view value);
    Query& bind_blob(int parameter, std::string_view value);
    // True: a row can be read. False: no more rows; the statement is rewound.
    DatabaseResult<bool> step();
    // For statements without rows.
    DatabaseResult<void> run();
    void rewind();

    std::int64_t integer(int column) const;
    std::string text(int column) const { return std::string(blob(column)); }
    // Valid until the next step().
    std::string_view blob(int column) const;

   private:
    friend class Database;
    struct Close {
      void operator()(sqlite3_stmt* statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Close> statement_;
  };

  // Creates the file if it is missing. Reads nothing yet: damage is detected by the first query.
  static DatabaseResult<std::unique_ptr<Database>> open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // One or more statements; rows are ignored.
  DatabaseResult<void> execute(const std::string& sql);
  // Runs `steps` in one transaction, which is rolled back if they fail.
  DatabaseResult<void> transact(const std::function<DatabaseResult<void>()>& steps);
  DatabaseResult<Query> prepare(std::string_view sql);
  // First column of the first row.
  DatabaseResult<std::int64_t> integer(std::string_view sql);
  DatabaseResult<std::string> text(std::string_view sql);

  // True once the write-ahead log has `frames` pages or more; checkpoint() then copies it into the file.
  bool is_checkpoint_due(int frames) const { return log_frames_ >= frames; }
  DatabaseResult<void> checkpoint(int frames);
  // Copies the write-ahead log into the file and empties it.
  DatabaseResult<void> empty_log();
  // Pages that this connection has written to the log.
  std::uint64_t pages_logged() const;

  // Bytes of the database file, or of its write-ahead log, as they are on the disk; fewer at the end. Once something
  // was read by a query, and SQLite has the files open: another descriptor would release its locks when it is closed.
  DatabaseResult<std::string> read_file(std::uint64_t offset, std::size_t bytes) const;
  DatabaseResult<std::string> read_log(std::uint64_t offset, std::size_t bytes) const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}
  DatabaseResult<std::string> read(int file_control, std::uint64_t offset, std::size_t bytes) const;

  std::unique_ptr<sqlite3, Close> connection_;
  int log_frames_ = 0;
};

}  // namespace berth
