// StoreMarks interface: a note of how far a store has come, kept outside of it. A start that finds less in the store
// than the note says works on an older copy: restored by an operator, or cut short by a damaged log (P11, N8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth {

struct StoreMark {
  std::string store_id;        // of an agent: the incarnation
  std::uint64_t term = 0;      // of an agent: the run
  std::uint64_t position = 0;  // of the next change
  bool operator==(const StoreMark&) const = default;
};

class StoreMarks {
 public:
  virtual ~StoreMarks() = default;
  // None: never written, or lost.
  virtual std::optional<StoreMark> read() = 0;
  // True: durable. False: the older mark stays, and this one is tried again; the implementation tells the operator.
  virtual bool write(const StoreMark& mark) = 0;
};

}  // namespace berth
