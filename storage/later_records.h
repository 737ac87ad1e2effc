// LaterRecords: records that a store reads but hands out after others. Their values are copied: what they were read
// from does not stay. The copies are in chunks, each of which is freed with the last of its records, so that what the
// visitor makes of them finds room there: one buffer that grows would touch three times the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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
  // Visits them in the order in which they were added or sorted, until the visitor returns an error. Afterwards there
  // are none.
  Status visit(const Store::Visit& visit);

 private:
  static constexpr std::size_t kChunkBytes = 16 * 1024;  // of the heap's own; a larger record has a chunk for itself
  struct Chunk {
    std::string bytes;  // of each record the table's number as a byte, the key, and the value
    std::uint32_t records = 0;
  };
  struct Place {
    std::uint32_t chunk = 0;
    std::uint32_t at = 0;  // in the chunk's bytes
    std::uint32_t value_bytes = 0;
    std::uint16_t key_bytes = 0;  // with the table
    std::uint8_t phase = 0;
  };
  std::string_view key_of(const Place& place) const {
    return {chunks_[place.chunk].bytes.data() + place.at, place.key_bytes};
  }

  std::vector<Chunk> chunks_;
  std::deque<Place> places_;
};

}  // namespace berth
