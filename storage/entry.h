// The changes of one commit as the journal keeps them: one sequence of bytes, squeezed when that makes it shorter, and
// with a checksum, since SQLite has none and flash forgets.
//
// The form: a byte, 3 (as it is) or 4 (squeezed); the CRC-32 of that byte and of what follows, lowest byte first; the
// changes, one after the other. Before schema version 3 the bytes were 1 and 2, and the CRC that of the changes alone.
// A change: a byte of Op
// (bits 0-2) and Table (3-7); the key, an id; then the value of a put; the phase and the value of a begin; the phase of
// an advance.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "storage/change.h"

namespace berth {

// As it lies in an entry.
struct ChangeView {
  Op op = Op::put;
  Table table = Table::meta;
  std::string key;
  std::string_view value;
  int phase = 0;
  std::size_t bytes = 0;  // that it takes, unsqueezed
};

// Bytes that the change takes.
std::size_t write_change(ByteWriter& out, Op op, Table table, std::string_view key, std::string_view value, int phase);
// `changes`: as written by write_change().
std::string seal_entry(std::string_view changes);
// The changes, or none: damaged.
std::optional<std::string> open_entry(std::string_view entry);
// Calls visit(change) for each. False: damaged.
bool each_change(std::string_view changes, const std::function<void(const ChangeView&)>& visit);

}  // namespace berth
