// LaterRecords: records that a store reads but hands out after others. Their values are copied: what they were read
// from does not stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/store.h"

namespace berth {

class LaterRecords {
 public:
  void add(const RecordView& record);
  // By (table, key).
  void sort();
  // Visits them in the order in which they were added or sorted, until the visitor returns an error.
  Status visit(const Store::Visit& visit) const;

 private:
  struct Place {
    std::uint64_t at = 0;  // in bytes_
    std::uint32_t value_bytes = 0;
    std::uint16_t key_bytes = 0;  // with the table
    std::uint8_t phase = 0;
  };
  std::string_view key_of(const Place& place) const { return {bytes_.data() + place.at, place.key_bytes}; }

  std::string bytes_;  // of each the table's number as a byte, the key, and the value
  std::vector<Place> places_;
};

}  // namespace berth
