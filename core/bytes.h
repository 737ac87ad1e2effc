// ByteWriter, ByteReader: the small binary form of what is stored: bytes, variable-length numbers and texts one after
// the other, without names. Whoever writes and reads them keeps the order, and a version where it may change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

class ByteWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  // Seven bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  // Small ones of either sign are short.
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  void text(std::string_view text) {
    number(text.size());
    raw(text);
  }

  // A text that may be a uuid, which then takes 17 bytes.
  void id(std::string_view text);

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

// Reads foreign bytes: what is missing reads as zero or empty, and ok() is false from then on.
class ByteReader {
 public:
  // `bytes` outlives this and the texts read.
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    const std::string_view one = raw(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
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
  std::string_view id_bytes();  // as they are written, for another reader
  // The same into a text that is there, which may spare an allocation.
  void id(std::string& text);

  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace berth
