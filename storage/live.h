// Live: where in the journal the newest value of each record lies, and how much of the journal is outdated. A fold
// keeps what is live and drops the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/key_index.h"
#include "core/slot_pool.h"
#include "storage/entry.h"

namespace berth {

class Live {
 public:
  // Packed: there is one for each record of the store.
  struct Place {
    std::int64_t entry = 0;    // its id
    std::uint32_t number = 0;  // of the change in its entry
    std::uint32_t bytes = 0;
    std::uint32_t key_at = 0;     // where the record's key begins in the text of all
    std::uint16_t key_bytes = 0;  // 0: no record
    std::uint8_t phase = 0;       // the record's, now
  };
  // Which record; those of erased ones are given to others.
  using Record = KeyIndex::Index;
  static constexpr Record kNone = KeyIndex::kNone;

  // A change was written as number `number` of an entry. Returns the record when it holds the new value; kNone for
  // erase, advance.
  Record note(std::int64_t entry, std::uint32_t number, const ChangeView& change);
  // The change that is number `number` of an entry left the journal, or was written again elsewhere.
  void drop(const ChangeView& change);
  // Null when no newer change outdates it. Until the next note().
  const Place* find(std::int64_t entry, std::uint32_t number, const ChangeView& change);

  std::uint64_t live_changes() const { return index_.size(); }
  std::uint64_t dead_changes() const { return changes_ - index_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t dead_bytes() const { return bytes_ - live_bytes_; }

  // Above every record.
  Record end() const { return static_cast<Record>(records_.size()); }
  bool is_live(Record record) const { return records_[record].key_bytes > 0; }
  const Place& place(Record record) const { return records_[record]; }
  // The table's number as a byte, then the key. Until the next note().
  std::string_view id(Record record) const {
    return {keys_.data() + records_[record].key_at, records_[record].key_bytes};
  }

 private:
  Record find(const ChangeView& change);
  Record add();
  void forget(Record record);
  void close_gaps();

  std::string id_;    // of the change looked for
  std::string keys_;  // one after the other, with gaps
  std::size_t gaps_ = 0;
  SlotPool<Place> records_;
  KeyIndex index_;
  std::uint64_t changes_ = 0;  // in the journal
  std::uint64_t bytes_ = 0;    // that they take
  std::uint64_t live_bytes_ = 0;
};

}  // namespace berth
