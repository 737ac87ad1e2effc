// Session: a real SqliteStore on the simulated disk, and beside it what it has promised.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/log.h"
#include "storage/memory_store.h"
#include "storage/sqlite_store.h"

namespace berth::crash {

class Notes final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field>) override { text.append(event).append("; "); }
  std::string text;
};

// What a store may hold after it ended, however it ended.
struct Promise {
  MemoryStore acknowledged;
  std::optional<MemoryStore> possible;  // with the commit whose outcome is unknown
};

class Session {
 public:
  explicit Session(const SqliteStore::Options& options) : options_(options) {}
  // Continues from what an earlier session promised.
  Session(const SqliteStore::Options& options, const MemoryStore& acknowledged)
      : options_(options), model_(acknowledged) {}

  // Opens and loads. False: refused; failure() says why.
  bool open();
  bool is_open() const { return store_ != nullptr; }
  void close() { store_.reset(); }

  void put(Table table, const std::string& key, const std::string& value);
  void erase(Table table, const std::string& key);
  bool begin(const std::string& key, const std::string& value);  // false: the store is full
  void advance(const std::string& key, int phase);
  // False: failed; the program would end now.
  bool commit();

  SqliteStore& store() { return *store_; }
  const std::vector<Record>& loaded() const { return loaded_; }
  Promise promise() const { return {model_, possible_}; }
  // What open() or commit() said; empty: nothing failed.
  const std::string& failure() const { return failure_; }
  // The store called its file damaged, or of another program.
  bool blamed_file() const { return blamed_file_; }

 private:
  const SqliteStore::Options options_;
  Notes log_;
  std::unique_ptr<SqliteStore> store_;
  MemoryStore model_;
  std::optional<MemoryStore> possible_;
  std::vector<Record> loaded_;
  std::string failure_;
  bool blamed_file_ = false;
};

inline constexpr char kStorePath[] = "/state/store.db";

}  // namespace berth::crash
