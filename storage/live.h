// Live: where in the journal the newest value of each record is, and how much of the journal is outdated. A fold keeps
// the live changes and drops the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/key_index.h"
#include "core/slot_pool.h"
#include "storage/entry.h"

namespace berth {

class Live {
 public:
  // Kept small: there is one for each record of the store.
  struct Location {
    std::int64_t entry = 0;    // its id
    std::uint32_t number = 0;  // index of the change in its entry
    std::uint32_t bytes = 0;
    std::uint32_t key_at = 0;     // offset of the record's key in keys_
    std::uint16_t key_bytes = 0;  // 0: no record
    std::uint8_t phase = 0;       // the record's current phase
  };
  // Number of a record; reused once the record is erased.
  using Record = KeyIndex::Index;
  static constexpr Record kNone = KeyIndex::kNone;

  // A change was written as number `number` of an entry. Returns the record that now has the value; kNone for erase
  // and advance.
  Record note(std::int64_t entry, std::uint32_t number, const ChangeView& change);
  // The change that is number `number` of an entry left the journal, or was written again elsewhere.
  void drop(const ChangeView& change);
  // Null if a newer change has outdated this one. Valid until the next note().
  const Location* find(std::int64_t entry, std::uint32_t number, const ChangeView& change);

  std::uint64_t live_changes() const { return index_.size(); }
  std::uint64_t dead_changes() const { return changes_ - index_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t dead_bytes() const { return bytes_ - live_bytes_; }

  // One past the highest record number.
  Record end() const { return static_cast<Record>(records_.size()); }
  bool is_live(Record record) const { return records_[record].key_bytes > 0; }
  const Location& location(Record record) const { return records_[record]; }
  // The table's number as a byte, then the key. Valid until the next note().
  std::string_view id(Record record) const { return text_at(records_[record]); }

 private:
  std::string_view text_at(const Location& location) const {
    return {keys_.data() + location.key_at, location.key_bytes};
  }
  Record find(const ChangeView& change);
  Record add();
  void forget(Record record);
  void close_gaps();

  std::string id_;          // of the change that find() last looked up
  std::vector<char> keys_;  // all keys, one after the other, with gaps
  std::size_t gaps_ = 0;
  SlotPool<Location> records_;
  KeyIndex index_;
  std::uint64_t changes_ = 0;  // in the journal
  std::uint64_t bytes_ = 0;    // their size
  std::uint64_t live_bytes_ = 0;
};

}  // namespace berth
