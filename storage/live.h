// Live: where in the journal the newest value of each record is, and how much of the journal is outdated. A fold keeps
// the live changes and drops the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/key_index.h"
#include "core/keyed_pool.h"
#include "core/slot_pool.h"
#include "core/text.h"
#include "storage/entry.h"

namespace berth {

class Live {
 public:
  using Record = KeyIndex::Index;
  static constexpr Record kNone = KeyIndex::kNone;

  // A change was written as number `number` of an entry. Returns the record that now has its value, whose number
  // another one gets once it is erased; kNone for erase and advance.
  Record note(std::int64_t entry, std::uint32_t number, const ChangeView& change);
  // The change that is number `number` of an entry left the journal, or was written again elsewhere.
  void drop(const ChangeView& change);
  // The record's phase; nullopt if a newer change has outdated this one.
  std::optional<int> phase_of(std::int64_t entry, std::uint32_t number, const ChangeView& change);
  // The same, sooner: `record` as note() returned it.
  std::optional<int> phase_of(std::int64_t entry, std::uint32_t number, Record record) const;

  std::uint64_t live_changes() const { return index_.size(); }
  std::uint64_t dead_changes() const { return changes_ - index_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t dead_bytes() const { return bytes_ - live_bytes_; }

 private:
  // Kept small: there is one for each record of the store.
  struct Location {
    // The lower half of its id, which is enough: two entries so far apart are never in the journal together, as each
    // between them has a change, and folds bound their number.
    std::uint32_t entry = 0;
    std::uint32_t number = 0;  // index of the change in its entry
    std::uint32_t bytes = 0;   // 0: no record
    std::uint32_t at = 0;      // in keys_: of the record's phase, a byte; its id follows
  };
  // What the keys of many objects begin with, "<kind>/<namespace>/".
  struct Beginning {
    Text text;
    std::uint32_t records = 0;  // that have it
  };
  struct TextOf {
    const Text& operator()(const Beginning& beginning) const { return beginning.text; }
  };
  using Beginnings = KeyedPool<Beginning, TextOf>;
  static std::size_t beginning_of(const ChangeView& change, std::string_view key);
  bool make_id(const ChangeView& change, bool adds);
  Record find(const ChangeView& change);
  Record find_or_add(const ChangeView& change);
  auto has_made_id() const {
    return [this](Record record) { return has_id(record, id_.bytes()); };
  }
  bool has_id(Record record, std::string_view id) const;
  void forget(Record record);
  void close_gaps();
  char* text_of(Record record) const {
    const std::uint32_t at = records_[record].at;
    return keys_[at / kBlock].get() + at % kBlock;
  }
  std::uint32_t keep(std::string_view text);

  Beginnings beginnings_;
  // Of the change that make_id() was last called for: its table, or kTables and more for a beginning by its number;
  // then the rest of the key as ByteWriter::id() writes it. No id is the beginning of another.
  static constexpr std::uint64_t kTables = 16;
  ByteWriter id_;
  Beginnings::Index beginning_ = Beginnings::kNone;  // of that id
  Beginnings::Index last_beginning_ = Beginnings::kNone;
  // All phases and ids, one after the other, with gaps; in blocks, since a start would copy them again and again.
  static constexpr std::size_t kBlock = 16 * 1024;
  static_assert(kBlock > kKeyMax + 16, "each has to fit");
  std::vector<std::unique_ptr<char[]>> keys_;
  std::size_t keys_end_ = 0;
  std::size_t gaps_ = 0;  // bytes
  SlotPool<Location> records_;
  KeyIndex index_;
  std::uint64_t changes_ = 0;  // in the journal
  std::uint64_t bytes_ = 0;    // their size
  std::uint64_t live_bytes_ = 0;
};

}  // namespace berth
