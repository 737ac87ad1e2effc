#include "core/bytes.h"

namespace berth {

namespace {

constexpr std::size_t kTextSize = 36;
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

// `packed` has kBytes bytes, or none when the input was truncated.
void unpack_uuid(std::string_view packed, std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  text.assign(packed.empty() ? 0 : kTextSize, '-');
  std::size_t at = 0;
  for (const char c : packed) {
    if (is_dash(at)) ++at;
    text[at++] = kHex[static_cast<std::uint8_t>(c) >> 4];
    text[at++] = kHex[static_cast<std::uint8_t>(c) & 15];
  }
}

}  // namespace

void ByteWriter::id(std::string_view text) {
  const std::string packed = pack_uuid(text);
  number(packed.empty() ? text.size() + 1 : 0);
  raw(packed.empty() ? text : packed);
}

std::string ByteReader::id() {
  std::string text;
  id(text);
  return text;
}

std::string_view ByteReader::id_bytes() {
  const std::string_view all = bytes_;
  const std::uint64_t size = number();
  raw(size == 0 ? kBytes : size - 1);
  return all.substr(0, all.size() - bytes_.size());
}

void ByteReader::id(std::string& text) {
  const std::uint64_t size = number();
  if (size == 0) return unpack_uuid(raw(kBytes), text);
  text = raw(size - 1);
}

}  // namespace berth
