#include "core/key_index.h"

#include <cstring>

namespace berth {

// A start has a million of these, and the standard library's takes twice as many instructions for a uid. The product at
// the end is for the eight bytes that came before it: of the highest of them their own takes nothing to lower bits.
std::uint32_t KeyIndex::hash_of(std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = key.size();
  const auto mix = [&hash](const char* bytes, std::size_t size) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, bytes, size);
    hash = (hash ^ piece) * kFactor;
    hash ^= hash >> 32;
  };
  constexpr std::size_t kPiece = sizeof hash;
  if (key.size() >= kPiece) {
    for (std::size_t at = 0; at + kPiece < key.size(); at += kPiece) mix(key.data() + at, kPiece);
    mix(key.data() + key.size() - kPiece, kPiece);  // may overlap the one before
  } else if (!key.empty()) {
    mix(key.data(), key.size());
  }
  return static_cast<std::uint32_t>(hash * kFactor >> 32);
}

}  // namespace berth
