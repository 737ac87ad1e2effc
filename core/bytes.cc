#include "core/bytes.h"

#include <cstring>
#include <tuple>

namespace berth {

namespace {

constexpr std::size_t kTextSize = std::tuple_size_v<ByteReader::UuidText>;
constexpr std::size_t kBytes = 16;

bool is_dash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The bytes of a UUID in canonical lower-case form; empty for anything else.
std::string pack_uuid(std::string_view text) {
  if (text.size() != kTextSize) return {};
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

using HexPairs = std::array<std::array<char, 2>, 256>;
constexpr HexPairs make_hex_pairs() {
  constexpr std::string_view kHex = "0123456789abcdef";
  HexPairs pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte) pairs[byte] = {kHex[byte >> 4], kHex[byte & 15]};
  return pairs;
}

// `packed` has kBytes bytes. A start unpacks two hundred thousand of them.
void unpack_uuid(std::string_view packed, ByteReader::UuidText& text) {
  static constexpr HexPairs kPairs = make_hex_pairs();
  const char* from = packed.data();
  char* to = text.data();
  for (const int bytes : {4, 2, 2, 2, 6}) {
    if (to != text.data()) *to++ = '-';
    for (int left = bytes; left > 0; --left, to += 2) {
      std::memcpy(to, kPairs[static_cast<std::uint8_t>(*from++)].data(), 2);
    }
  }
}

}  // namespace

void ByteWriter::id(std::string_view text) {
  const std::string packed = pack_uuid(text);
  number(packed.empty() ? text.size() + 1 : 0);
  raw(packed.empty() ? text : packed);
}

std::string ByteReader::id() {
  UuidText uuid{};
  return std::string(id(uuid));
}

std::string_view ByteReader::id_bytes() {
  const std::string_view all = bytes_;
  const std::uint64_t size = number();
  raw(size == 0 ? kBytes : size - 1);
  return all.substr(0, all.size() - bytes_.size());
}

std::string_view ByteReader::id(UuidText& uuid) {
  const std::uint64_t size = number();
  if (size != 0) return raw(size - 1);
  const std::string_view packed = raw(kBytes);
  if (packed.empty()) return {};
  unpack_uuid(packed, uuid);
  return {uuid.data(), uuid.size()};
}

}  // namespace berth
