// Seeded random numbers (SplitMix64, Steele et al. 2014): the same seed gives the same run on every architecture.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. Rejection sampling, so there is no modulo bias.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound);
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
  }
  // True with probability parts / whole.
  bool chance(std::uint64_t parts, std::uint64_t whole) { return below(whole) < parts; }
  // 32 lower-case hexadecimal digits.
  std::string hex_id();

 private:
  std::uint64_t state_;
};

}  // namespace berth
