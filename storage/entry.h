// The changes of one commit as the journal stores them: one sequence of bytes, compressed when that makes it shorter,
// with a checksum, since SQLite has none and flash loses bits.
//
// The format: a form byte, 3 (plain) or 4 (compressed); the CRC-32 of that byte and of everything after the CRC,
// little-endian; the changes, one after the other. Before schema version 3 the form bytes were 1 and 2, and the CRC
// covered the uncompressed changes only. A change: a byte with Op (bits 0-2) and Table (bits 3-7); the key, an id; then
// the value of a put, the phase and value of a begin, or the phase of an advance.
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

// A change inside an entry; its views point into the entry.
struct ChangeView {
  Op op = Op::put;
  Table table = Table::meta;
  std::string_view id;  // the key as ByteWriter::id() writes it
  std::string_view value;
  int phase = 0;
  std::size_t bytes = 0;  // its uncompressed size

  std::string key() const { return ByteReader(id).id(); }
};

// Returns the bytes written.
std::size_t write_change(ByteWriter& out, Op op, Table table, std::string_view key, std::string_view value, int phase);
// `changes`: as written by write_change().
std::string seal_entry(std::string_view changes);
// The changes; nullopt if the entry is damaged.
std::optional<std::string> open_entry(std::string_view entry);
// The same into a buffer, for who opens many. False: it is damaged.
bool open_entry(std::string_view entry, std::string& changes);
// The same where that was true before.
bool reopen_entry(std::string_view entry, std::string& changes);
// Calls visit(change) for each change. False if the bytes are damaged.
bool each_change(std::string_view changes, const std::function<void(const ChangeView&)>& visit);

}  // namespace berth
