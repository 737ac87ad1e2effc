// FNV-1a, 64 bits. Stored, so it stays the same on every machine and in every version.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace berth
