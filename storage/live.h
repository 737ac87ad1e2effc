// Live: where in the journal the newest value of each record lies, and how much of the journal is outdated. A fold
// keeps what is live and drops the rest.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "storage/entry.h"

namespace berth {

class Live {
 public:
  struct Place {
    std::int64_t entry = 0;    // its id
    std::uint32_t number = 0;  // of the change in its entry
    std::uint32_t bytes = 0;
    int phase = 0;           // the record's, now
    std::uint32_t slot = 0;  // the caller's
  };

  // Makes room for so many records.
  void expect(std::size_t records) { places_.reserve(records); }
  // A change was written as number `number` of an entry. Returns the record's place when it holds the new value; null
  // for erase, advance.
  Place* note(std::int64_t entry, std::uint32_t number, const ChangeView& change);
  // The change that is number `number` of an entry left the journal, or was written again elsewhere.
  void drop(const ChangeView& change);
  // Null when no newer change outdates it.
  Place* find(std::int64_t entry, std::uint32_t number, const ChangeView& change);

  std::uint64_t live_changes() const { return places_.size(); }
  std::uint64_t dead_changes() const { return changes_ - places_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t dead_bytes() const { return bytes_ - live_bytes_; }
  // By the table's number as a byte, then the key.
  using Item = std::pair<const std::string, Place>;
  const std::unordered_map<std::string, Place>& places() const { return places_; }

 private:
  const std::string& id_of(const ChangeView& change);  // until the next call

  std::string id_;
  std::unordered_map<std::string, Place> places_;  // order matters not: see key_order.h
  std::uint64_t changes_ = 0;                      // in the journal
  std::uint64_t bytes_ = 0;                        // that they take
  std::uint64_t live_bytes_ = 0;
};

}  // namespace berth
