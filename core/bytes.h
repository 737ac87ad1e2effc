// ByteWriter, ByteReader: a compact binary encoding for stored records: bytes, variable-length numbers and
// length-prefixed strings, without field names. Writer and reader must agree on the order of the fields, and on a
// version where it may change.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

class ByteWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  // LEB128: seven bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  // Zigzag encoded: small numbers of either sign are short.
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  void text(std::string_view text) {
    number(text.size());
    raw(text);
  }

  // A string that may be a UUID; a UUID takes 17 bytes.
  void id(std::string_view text);

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::exchange(bytes_, {}); }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

// Reads untrusted bytes: past the end it reads zeros and empty strings, and ok() is false from then on.
class ByteReader {
 public:
  // `bytes` must outlive the reader and the views it returns.
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = byte();
    if (value < 0x80) return value;  // most are
    value &= 0x7f;
    for (int shift = 7; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= static_cast<std::uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t integer() {
    const std::uint64_t folded = number();
    return static_cast<std::int64_t>((folded >> 1) ^ (~(folded & 1) + 1));
  }
  std::string_view raw(std::uint64_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view text() { return raw(number()); }
  std::string id();
  // The same without an allocation: a view of the input, or of a UUID's characters in `uuid`.
  using UuidText = std::array<char, 36>;
  std::string_view id(UuidText& uuid);
  std::string_view id_bytes();  // in encoded form, for another reader

  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace berth
