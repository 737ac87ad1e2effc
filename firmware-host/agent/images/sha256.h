// Sha256: the digest that names blobs and layers (FIPS 180-4). Of our own, since the programs exist without OpenSSL
// too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

class Sha256 {
 public:
  void update(std::string_view bytes);
  // "sha256:" and 64 hexadecimal digits. Nothing may be added afterwards.
  std::string digest();

 private:
  static constexpr std::size_t kBlock = 64;

  void take(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlock> rest_{};  // what does not fill a block yet
  std::size_t resting_ = 0;
  std::uint64_t length_ = 0;  // in bytes
};

std::string sha256_digest(std::string_view bytes);

}  // namespace berth
