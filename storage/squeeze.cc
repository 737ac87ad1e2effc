#include "storage/squeeze.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "core/bytes.h"

namespace berth {

namespace {

constexpr std::size_t kLeast = 4;                // shorter repetitions are not worth encoding
constexpr std::uint64_t kSizeMax = 64ull << 20;  // anything larger is damage
constexpr unsigned kHashBits = 12;

std::uint32_t four_bytes(const char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void write_group(ByteWriter& out, std::string_view literals, std::size_t repeated, std::size_t distance) {
  const std::size_t beyond = repeated == 0 ? 0 : repeated - kLeast;
  out.byte(
      static_cast<std::uint8_t>(std::min<std::size_t>(literals.size(), 15) << 4 | std::min<std::size_t>(beyond, 15)));
  if (literals.size() >= 15) out.number(literals.size() - 15);
  if (beyond >= 15) out.number(beyond - 15);
  out.raw(literals);
  if (repeated > 0) out.number(distance);
}

}  // namespace

std::string squeeze(std::string_view bytes) {
  ByteWriter out;
  out.number(bytes.size());
  std::array<std::uint32_t, 1u << kHashBits> last{};  // last offset of four bytes with this hash, plus one
  std::size_t plain = 0;                              // start of the pending literals
  std::size_t at = 0;
  while (at + kLeast <= bytes.size()) {
    const std::uint32_t next = four_bytes(bytes.data() + at);
    std::uint32_t& seen = last[next * 2654435761u >> (32 - kHashBits)];
    const std::size_t before = seen;
    seen = static_cast<std::uint32_t>(at + 1);
    if (before == 0 || four_bytes(bytes.data() + before - 1) != next) {
      ++at;
      continue;
    }
    const std::size_t from = before - 1;
    std::size_t length = kLeast;
    while (at + length < bytes.size() && bytes[from + length] == bytes[at + length]) ++length;
    write_group(out, bytes.substr(plain, at - plain), length, at - from);
    at += length;
    plain = at;
  }
  write_group(out, bytes.substr(plain), 0, 0);
  return out.take();
}

namespace {

// Copies `count` bytes. Where source and destination have room for it, most are copied in one step of a fixed size.
constexpr std::size_t kStep = 16;
void copy(char* to, const char* from, std::size_t count, bool has_room) {
  if (has_room && count <= kStep) {
    std::memcpy(to, from, kStep);
  } else {
    std::memcpy(to, from, count);
  }
}

// Expands groups of not too many bytes, as most are, far from the ends of what is read and written, where more may be
// copied than is meant. Stops at the first that is none of these, or looks damaged; `left` and `at` are then behind the
// last one.
void expand_short_groups(std::string_view& left, char* to, std::size_t& at, std::size_t size) {
  constexpr std::size_t kPlainMost = 2 * kStep, kRepeatedMost = 15 + 127;
  constexpr std::size_t kReads = 3 + kPlainMost + 3, kWrites = kPlainMost + kRepeatedMost + kLeast + kStep;
  while (left.size() >= kReads && size - at >= kWrites) {
    const auto* const in = reinterpret_cast<const std::uint8_t*>(left.data());
    const std::uint8_t* next = in + 1;
    std::size_t plain = in[0] >> 4;
    std::size_t repeated = in[0] & 15;
    if (plain == 15) plain += *next++;
    if (repeated == 15) repeated += *next++;
    if (plain > kPlainMost || repeated > kRepeatedMost) return;
    const std::uint8_t* const literals = next;
    next += plain;
    std::size_t distance = *next++;
    if (distance >= 0x80) {
      distance = (distance & 0x7f) | static_cast<std::size_t>(*next++) << 7;
      if (distance >= 0x80 << 7) {
        if (*next >= 0x80) return;
        distance = (distance & 0x3fff) | static_cast<std::size_t>(*next++) << 14;
      }
    }
    if (distance < kStep || distance > at + plain) return;
    std::memcpy(to + at, literals, kPlainMost);
    at += plain;
    for (std::size_t done = 0; done < repeated + kLeast; done += kStep) {
      std::memcpy(to + at + done, to + at + done - distance, kStep);
    }
    at += repeated + kLeast;
    left.remove_prefix(static_cast<std::size_t>(next - in));
  }
}

// Writes exactly `size` bytes to `to`. False if the input is damaged or gives another number of bytes.
bool expand(std::string_view left, char* to, std::size_t size) {
  std::size_t at = 0;
  while (true) {
    expand_short_groups(left, to, at, size);
    ByteReader in(left);
    const std::uint8_t head = in.byte();
    std::uint64_t plain = head >> 4;
    if (plain == 15) plain += in.number();
    std::uint64_t repeated = head & 15;
    if (repeated == 15) repeated += in.number();
    const std::string_view literals = in.raw(plain);
    if (!in.ok() || literals.size() > size - at) return false;
    copy(to + at, literals.data(), literals.size(), size - at >= kStep && in.left() >= kStep);
    at += literals.size();
    if (in.at_end()) return at == size;
    const std::uint64_t distance = in.number();
    if (!in.ok() || distance == 0 || distance > at || repeated > kSizeMax) return false;
    const std::size_t length = static_cast<std::size_t>(repeated) + kLeast;
    if (length > size - at) return false;
    // Source and destination may overlap.
    const std::size_t from = at - static_cast<std::size_t>(distance);
    if (distance >= length) {
      copy(to + at, to + from, length, size - at >= kStep && distance >= kStep);
    } else {
      for (std::size_t i = 0; i < length; ++i) to[at + i] = to[from + i];
    }
    at += length;
    left.remove_prefix(left.size() - in.left());
  }
}

}  // namespace

bool unsqueeze(std::string_view squeezed, std::string& bytes) {
  ByteReader in(squeezed);
  const std::uint64_t stored_size = in.number();
  if (!in.ok() || stored_size > kSizeMax) return false;
  const auto size = static_cast<std::size_t>(stored_size);
  bool is_whole = false;
  // Without zero-filling first: a store of 50,000 pods has tens of megabytes. GCC 12's library may pass a larger size
  // than requested.
  bytes.resize_and_overwrite(size, [&](char* to, std::size_t) {
    is_whole = expand(in.raw(in.left()), to, size);
    return is_whole ? size : 0;
  });
  return is_whole;
}

std::optional<std::string> unsqueeze(std::string_view squeezed) {
  std::string bytes;
  if (!unsqueeze(squeezed, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace berth
