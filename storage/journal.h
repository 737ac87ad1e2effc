// Journal: the table that a SqliteStore consists of. Changes are appended to it, compressed; once enough of them are
// outdated, the oldest entries are folded, that is, their live changes are written again at its end and the entries
// deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store.h"
#include "storage/change.h"
#include "storage/database.h"
#include "storage/entry.h"
#include "storage/live.h"
#include "storage/store_options.h"

namespace berth {

class Journal {
 public:
  // `database` must outlive this. `position`: of the last change, unless load() reads it.
  explicit Journal(Database& database, std::uint64_t position = 0) : database_(database), position_(position) {}

  // Once the table exists.
  DatabaseResult<void> prepare_statements();
  // Reads and checks the entries. visit() then hands out the records: those of Table::object, the rows, and the others
  // in (table, key) order.
  DatabaseResult<void> load();
  Status visit(const Store::Visit& visit);

  // Appends the changes in a transaction of its own. After an error nothing has changed; it may be called again.
  DatabaseResult<void> commit(const std::vector<Change>& changes);
  // The steps of commit() without the transaction, for the first entries of a journal: load() has to follow. No changes
  // record the position only.
  DatabaseResult<void> append(const std::vector<Change>& changes);
  // Whether a fold is worth its writes. On a full store less is enough, as only a fold frees the space of erased
  // records. `is_full` is asked only if it matters.
  bool is_fold_due(const StoreOptions& options, const std::function<bool()>& is_full) const;
  // Folds the oldest entries, 256 KiB at most, so that no turn of the loop takes long. After an error nothing has
  // changed.
  DatabaseResult<void> fold();
  // A fold found no space: the next is due after this many more outdated changes.
  void postpone_fold(std::uint64_t changes) { fold_after_ = live_.dead_changes() + changes; }

  // Of the last durable change.
  std::uint64_t position() const { return position_; }

 private:
  struct Entry {
    std::int64_t id = 0;
    std::string changes;  // uncompressed
  };
  DatabaseResult<void> append_entry(std::string changes, std::uint64_t position);
  DatabaseResult<void> fold_oldest();
  DatabaseResult<std::vector<Entry>> read_oldest();
  void note_written();

  Database& database_;
  Database::Query append_, oldest_, drop_to_;
  Live live_;
  struct Sealed {
    std::int64_t id = 0;
    std::string entry;
    std::vector<Live::Record> records;  // of each change, as Live::note() returned it
  };
  std::vector<Sealed> loaded_;  // all, between load() and visit()
  std::vector<Entry> written_;  // by the last transaction
  std::vector<Entry> folding_;  // deleted from the journal by the last fold
  std::uint64_t position_ = 0;
  std::int64_t last_entry_ = 0;
  std::uint64_t fold_after_ = 0;  // outdated changes before the next attempt, once a fold found no space
};

}  // namespace berth
