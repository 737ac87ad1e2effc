#include "core/key_index.h"

#include <cstring>

namespace berth {

// A start has a million of these, and the standard library's takes twice as many instructions for a uid. The last
// product is for the last word, whose highest byte the first takes to the highest bits alone.
std::uint32_t KeyIndex::hash_of(std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = key.size();
  const auto mix = [&hash](const char* bytes, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 32;
  };
  constexpr std::size_t kWord = sizeof hash;
  if (key.size() >= kWord) {
    for (std::size_t at = 0; at + kWord < key.size(); at += kWord) mix(key.data() + at, kWord);
    mix(key.data() + key.size() - kWord, kWord);  // may overlap the one before
  } else if (!key.empty()) {
    mix(key.data(), key.size());
  }
  return static_cast<std::uint32_t>(hash * kFactor >> 32);
}

}  // namespace berth
