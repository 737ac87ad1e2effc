#include "core/random.h"

namespace berth {

std::string Random::hex_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = next();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4) id += kDigits[bits & 15];
  }
  return id;
}

}  // namespace berth
