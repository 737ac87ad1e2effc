#include "storage/entry.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "storage/squeeze.h"

namespace berth {

namespace {

constexpr std::uint8_t kPlainBefore3 = 1;
constexpr std::uint8_t kSqueezedBefore3 = 2;
constexpr std::uint8_t kPlain = 3;
constexpr std::uint8_t kSqueezed = 4;
constexpr std::size_t kHeadBytes = 5;

// The reflected CRC-32 with polynomial 0x04C11DB7, as in zlib. Table k is for a byte that k others follow, so that
// eight bytes are processed at a time. Twice as many tables would take 8 KiB more. Made when they are first used: they
// would be as large in the program.
constexpr std::size_t kAtOnce = 8;
using CrcTables = std::array<std::array<std::uint32_t, 256>, kAtOnce>;
[[gnu::noinline]] CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    tables[0][i] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 0xFF];
  }
  return tables;
}

// Four bytes, little-endian.
std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, bytes, sizeof word);
  } else {
    for (unsigned k = 0; k < 4; ++k) word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[k])) << 8 * k;
  }
  return word;
}

// `before`: the checksum of the bytes before these.
std::uint32_t crc_of(std::string_view bytes, std::uint32_t before = 0) {
  static const CrcTables kTables = make_crc_tables();
  std::uint32_t crc = ~before;
  std::size_t at = 0;
  for (; at + kAtOnce <= bytes.size(); at += kAtOnce) {
    std::uint32_t next = 0;
    for (std::size_t word = 0; word < kAtOnce / 4; ++word) {
      const std::uint32_t four = word_at(bytes.data() + at + 4 * word) ^ (word == 0 ? crc : 0);
      for (std::size_t k = 0; k < 4; ++k) next ^= kTables[kAtOnce - 1 - 4 * word - k][four >> 8 * k & 0xFF];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<std::uint8_t>(bytes[at])) & 0xFF];
  return ~crc;
}

// Of an entry. Covers the form byte, so that damage which turns one form into another is detected too.
std::uint32_t crc_of(std::uint8_t form, std::string_view rest) {
  const char first = static_cast<char>(form);
  return crc_of(rest, crc_of({&first, 1}));
}

}  // namespace

std::size_t write_change(ByteWriter& out, Op op, Table table, std::string_view key, std::string_view value, int phase) {
  const std::size_t before = out.bytes().size();
  out.byte(static_cast<std::uint8_t>(static_cast<unsigned>(op) | static_cast<unsigned>(table) << 3));
  out.id(key);
  if (op == Op::begin || op == Op::advance) out.integer(phase);
  if (op == Op::put || op == Op::begin) out.text(value);
  return out.bytes().size() - before;
}

std::string seal_entry(std::string_view changes) {
  const std::string squeezed = squeeze(changes);
  const bool shorter = squeezed.size() < changes.size();
  ByteWriter out;
  const std::string_view rest = shorter ? std::string_view(squeezed) : changes;
  const std::uint8_t form = shorter ? kSqueezed : kPlain;
  out.byte(form);
  const std::uint32_t crc = crc_of(form, rest);
  for (unsigned shift = 0; shift < 32; shift += 8) out.byte(static_cast<std::uint8_t>(crc >> shift));
  out.raw(rest);
  return out.take();
}

bool open_entry(std::string_view entry, std::string& changes) {
  if (entry.size() < kHeadBytes) return false;
  ByteReader in(entry);
  const std::uint8_t form = in.byte();
  std::uint32_t crc = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) crc |= static_cast<std::uint32_t>(in.byte()) << shift;
  const bool before_3 = form == kPlainBefore3 || form == kSqueezedBefore3;
  if (!before_3 && ((form != kPlain && form != kSqueezed) || crc_of(form, entry.substr(kHeadBytes)) != crc)) {
    return false;
  }
  return reopen_entry(entry, changes) && (!before_3 || crc_of(changes) == crc);
}

bool reopen_entry(std::string_view entry, std::string& changes) {
  const auto form = static_cast<std::uint8_t>(entry.front());
  const std::string_view rest = entry.substr(kHeadBytes);
  if (form == kSqueezed || form == kSqueezedBefore3) return unsqueeze(rest, changes);
  changes = rest;
  return true;
}

std::optional<std::string> open_entry(std::string_view entry) {
  std::string changes;
  if (!open_entry(entry, changes)) return std::nullopt;
  return changes;
}

namespace {

// The size of the key that an id stands for.
std::size_t key_size(std::string_view id) {
  const std::uint64_t size = ByteReader(id).number();
  return size == 0 ? std::tuple_size_v<ByteReader::UuidText> : static_cast<std::size_t>(size - 1);
}

}  // namespace

bool each_change(std::string_view changes, const std::function<void(const ChangeView&)>& visit) {
  ByteReader in(changes);
  ChangeView change;
  while (!in.at_end()) {
    const std::size_t left = in.left();
    const std::uint8_t head = in.byte();
    change.op = static_cast<Op>(head & 7);
    change.table = static_cast<Table>(head >> 3);
    change.id = in.id_bytes();
    const bool phased = change.op == Op::begin || change.op == Op::advance;
    change.phase = phased ? static_cast<int>(in.integer()) : 0;
    change.value = change.op == Op::put || change.op == Op::begin ? in.text() : std::string_view();
    change.bytes = left - in.left();
    if (!in.ok() || change.op < Op::put || change.op > Op::advance) return false;
    if (!is_storable(key_size(change.id), change.phase)) return false;
    visit(change);
  }
  return true;
}

}  // namespace berth
