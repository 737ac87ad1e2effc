// Session: a real SqliteStore on the simulated disk, together with a model of what it has acknowledged.
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

// What a store may contain after it was closed or crashed.
struct Promise {
  MemoryStore acknowledged;
  std::optional<MemoryStore> possible;  // including the commit whose outcome is unknown
};

class Session {
 public:
  explicit Session(const SqliteStore::Options& options) : options_(options) {}
  // Continues from an earlier session's promise.
  Session(const SqliteStore::Options& options, const MemoryStore& acknowledged)
      : options_(options), model_(acknowledged) {}

  // Opens and loads the store. False: it failed; failure() is the reason.
  bool open();
  bool is_open() const { return store_ != nullptr; }
  void close() { store_.reset(); }

  void put(Table table, const std::string& key, const std::string& value);
  void erase(Table table, const std::string& key);
  bool begin(const std::string& key, const std::string& value);  // false: the store is full
  void advance(const std::string& key, int phase);
  // False: the commit failed; the program would exit now.
  bool commit();

  SqliteStore& store() { return *store_; }
  const std::vector<Record>& loaded() const { return loaded_; }
  Promise promise() const { return {model_, possible_}; }
  // The error of open() or commit(); empty: none.
  const std::string& failure() const { return failure_; }
  // Whether the store reported its file as damaged, or as written by a newer program.
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
