#include "storage/key_order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t kFew = 24;  // up to this many are sorted by plain comparison
constexpr std::size_t kStep = 8;

struct Head {
  std::uint64_t bytes = 0;  // kStep bytes of the key, big-endian; padded with zeros
  std::uint32_t number = 0;
};

std::uint64_t bytes_from(std::string_view key, std::size_t depth) {
  std::uint64_t bytes = 0;
  if (std::endian::native == std::endian::little && depth + kStep <= key.size()) {
    std::memcpy(&bytes, key.data() + depth, kStep);
    return __builtin_bswap64(bytes);
  }
  for (std::size_t i = 0; i < kStep; ++i) {
    const std::size_t at = depth + i;
    bytes = bytes << 8 | (at < key.size() ? static_cast<std::uint8_t>(key[at]) : 0);
  }
  return bytes;
}

class Sorter {
 public:
  explicit Sorter(const KeyOf& key_of) : key_of_(key_of) {}

  // All keys are equal up to `depth`.
  void sort(std::span<Head> heads, std::size_t depth) const {
    if (heads.size() <= kFew) return compare_all(heads);
    depth = common_length(heads, depth);
    for (Head& head : heads) head.bytes = bytes_from(key(head), depth);
    std::sort(heads.begin(), heads.end(), [](const Head& a, const Head& b) { return a.bytes < b.bytes; });
    for (std::size_t begin = 0, end = 0; begin < heads.size(); begin = end) {
      while (end < heads.size() && heads[end].bytes == heads[begin].bytes) ++end;
      if (end - begin == 1) continue;
      const std::span<Head> alike = heads.subspan(begin, end - begin);
      // Zero bytes may belong to a key or be padding.
      const bool all_go_on =
          std::all_of(alike.begin(), alike.end(), [&](const Head& head) { return key(head).size() > depth + kStep; });
      all_go_on ? sort(alike, depth + kStep) : compare_all(alike);
    }
  }

 private:
  std::string_view key(const Head& head) const { return key_of_(head.number); }

  // The length of the prefix that all keys share.
  std::size_t common_length(std::span<const Head> heads, std::size_t depth) const {
    const std::string_view first = key(heads.front());
    std::size_t common = first.size();
    for (const Head& head : heads) {
      const std::string_view other = key(head);
      common = std::min(common, other.size());
      std::size_t same = depth;
      while (same < common && other[same] == first[same]) ++same;
      common = same;
    }
    return common;
  }

  void compare_all(std::span<Head> heads) const {
    std::sort(heads.begin(), heads.end(), [this](const Head& a, const Head& b) { return key(a) < key(b); });
  }

  const KeyOf& key_of_;
};

}  // namespace

std::vector<std::uint32_t> in_key_order(std::vector<std::uint32_t> numbers, const KeyOf& key_of) {
  std::vector<Head> heads;
  heads.reserve(numbers.size());
  for (const std::uint32_t number : numbers) heads.push_back({0, number});
  Sorter(key_of).sort(heads, 0);
  for (std::size_t at = 0; at < heads.size(); ++at) numbers[at] = heads[at].number;
  return numbers;
}

}  // namespace berth
