#include "storage/key_order.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace berth {

namespace {

constexpr std::size_t kFew = 24;  // are compared
constexpr std::size_t kStep = 8;

struct Head {
  std::uint64_t bytes = 0;  // kStep of the key, the first one highest; zeros after its end
  const Live::Item* item = nullptr;
  const std::string& key() const { return item->first; }
};

std::uint64_t bytes_from(const std::string& key, std::size_t depth) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kStep; ++i) {
    const std::size_t at = depth + i;
    bytes = bytes << 8 | (at < key.size() ? static_cast<std::uint8_t>(key[at]) : 0);
  }
  return bytes;
}

// Up to where all are the same; they are up to `depth`.
std::size_t common_length(std::span<const Head> heads, std::size_t depth) {
  const std::string& first = heads.front().key();
  std::size_t common = first.size();
  for (const Head& head : heads) {
    const std::string& key = head.key();
    common = std::min(common, key.size());
    std::size_t same = depth;
    while (same < common && key[same] == first[same]) ++same;
    common = same;
  }
  return common;
}

void compare_all(std::span<Head> heads) {
  std::sort(heads.begin(), heads.end(), [](const Head& a, const Head& b) { return a.key() < b.key(); });
}

void sort_from(std::span<Head> heads, std::size_t depth) {
  if (heads.size() <= kFew) return compare_all(heads);
  depth = common_length(heads, depth);
  for (Head& head : heads) head.bytes = bytes_from(head.key(), depth);
  std::sort(heads.begin(), heads.end(), [](const Head& a, const Head& b) { return a.bytes < b.bytes; });
  for (std::size_t begin = 0, end = 0; begin < heads.size(); begin = end) {
    while (end < heads.size() && heads[end].bytes == heads[begin].bytes) ++end;
    const std::span<Head> alike = heads.subspan(begin, end - begin);
    // Zeros may be a key's own, or come after its end.
    const bool all_go_on = std::all_of(alike.begin(), alike.end(),
                                       [depth](const Head& head) { return head.key().size() > depth + kStep; });
    all_go_on ? sort_from(alike, depth + kStep) : compare_all(alike);
  }
}

}  // namespace

std::vector<const Live::Item*> in_order(const Live& live) {
  std::vector<Head> heads;
  heads.reserve(live.places().size());
  for (const Live::Item& item : live.places()) heads.push_back({0, &item});
  sort_from(heads, 0);
  std::vector<const Live::Item*> items;
  items.reserve(heads.size());
  for (const Head& head : heads) items.push_back(head.item);
  return items;
}

}  // namespace berth
