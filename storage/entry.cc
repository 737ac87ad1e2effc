#include "storage/entry.h"

#include <array>
#include <utility>

#include "storage/squeeze.h"

namespace berth {

namespace {

constexpr std::uint8_t kPlain = 1;
constexpr std::uint8_t kSqueezed = 2;
constexpr std::size_t kHeadBytes = 5;
constexpr std::uint8_t kUuidKey = 0x80;
constexpr std::size_t kUuidText = 36;
constexpr std::size_t kUuidBytes = 16;

// The reflected CRC-32 of polynomial 0x04C11DB7, as of zlib.
constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    table[i] = value;
  }
  return table;
}

std::uint32_t crc_of(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xFF];
  return ~crc;
}

bool is_dash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The 16 bytes of a uuid in its usual text, lower case; else empty.
std::string pack_uuid(std::string_view text) {
  if (text.size() != kUuidText) return {};
  std::string packed;
  int half = -1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_dash(at) != (text[at] == '-')) return {};
    if (is_dash(at)) continue;
    const int digit = hex_digit(text[at]);
    if (digit < 0) return {};
    if (half < 0) {
      half = digit;
    } else {
      packed.push_back(static_cast<char>(half << 4 | digit));
      half = -1;
    }
  }
  return packed;
}

std::string unpack_uuid(std::string_view packed) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(kUuidText);
  for (const char c : packed) {
    if (is_dash(text.size())) text.push_back('-');
    text.push_back(kHex[static_cast<std::uint8_t>(c) >> 4]);
    text.push_back(kHex[static_cast<std::uint8_t>(c) & 15]);
  }
  return text;
}

}  // namespace

std::size_t write_change(ByteWriter& out, Op op, Table table, std::string_view key, std::string_view value, int phase) {
  const std::size_t before = out.bytes().size();
  const std::string uuid = pack_uuid(key);
  const auto head = static_cast<std::uint8_t>(static_cast<unsigned>(op) | static_cast<unsigned>(table) << 3);
  out.byte(uuid.empty() ? head : head | kUuidKey);
  if (uuid.empty()) {
    out.text(key);
  } else {
    out.raw(uuid);
  }
  if (op == Op::begin || op == Op::advance) out.integer(phase);
  if (op == Op::put || op == Op::begin) out.text(value);
  return out.bytes().size() - before;
}

std::string seal_entry(std::string_view changes) {
  const std::string squeezed = squeeze(changes);
  const bool shorter = squeezed.size() < changes.size();
  ByteWriter out;
  out.byte(shorter ? kSqueezed : kPlain);
  const std::uint32_t crc = crc_of(changes);
  for (unsigned shift = 0; shift < 32; shift += 8) out.byte(static_cast<std::uint8_t>(crc >> shift));
  out.raw(shorter ? std::string_view(squeezed) : changes);
  return out.take();
}

std::optional<std::string> open_entry(std::string_view entry) {
  if (entry.size() < kHeadBytes) return std::nullopt;
  ByteReader in(entry);
  const std::uint8_t form = in.byte();
  std::uint32_t crc = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) crc |= static_cast<std::uint32_t>(in.byte()) << shift;
  const std::string_view rest = entry.substr(kHeadBytes);
  std::optional<std::string> changes;
  if (form == kPlain) changes = std::string(rest);
  if (form == kSqueezed) changes = unsqueeze(rest);
  if (!changes || crc_of(*changes) != crc) return std::nullopt;
  return changes;
}

bool each_change(std::string_view changes, const std::function<void(const ChangeView&)>& visit) {
  ByteReader in(changes);
  ChangeView change;
  while (!in.at_end()) {
    const std::size_t left = in.left();
    const std::uint8_t head = in.byte();
    change.op = static_cast<Op>(head & 7);
    change.table = static_cast<Table>(head >> 3 & 15);
    change.key = (head & kUuidKey) != 0 ? unpack_uuid(in.raw(kUuidBytes)) : std::string(in.text());
    const bool phased = change.op == Op::begin || change.op == Op::advance;
    change.phase = phased ? static_cast<int>(in.integer()) : 0;
    change.value = change.op == Op::put || change.op == Op::begin ? in.text() : std::string_view();
    change.bytes = left - in.left();
    if (!in.ok() || change.op < Op::put || change.op > Op::advance) return false;
    visit(change);
  }
  return true;
}

}  // namespace berth
