#include "core/handshake/siphash.h"

#include <bit>
#include <cstddef>
#include <span>

namespace berth {

namespace {

std::uint64_t read_word(std::span<const std::uint8_t> bytes) {
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) word |= static_cast<std::uint64_t>(bytes[at]) << (8 * at);
  return word;
}

// The constants and rotations are those of the paper.
struct State {
  std::uint64_t v0, v1, v2, v3;

  void mix(int rounds) {
    for (; rounds > 0; --rounds) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
  std::uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }
};

}  // namespace

SipTag siphash(const SipKey& key, std::string_view message) {
  const std::uint64_t low = read_word(std::span(key).first(8));
  const std::uint64_t high = read_word(std::span(key).last(8));
  State state{low ^ 0x736f6d6570736575u, high ^ 0x646f72616e646f6du ^ 0xeeu, low ^ 0x6c7967656e657261u,
              high ^ 0x7465646279746573u};
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(message.data()), message.size());
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.take(read_word(bytes.subspan(at, 8)));
  state.take(static_cast<std::uint64_t>(bytes.size()) << 56 | read_word(bytes.subspan(whole)));
  SipTag tag;
  state.v2 ^= 0xeeu;
  for (std::size_t half : {std::size_t{0}, std::size_t{8}}) {
    state.mix(4);
    const std::uint64_t sum = state.sum();
    for (std::size_t at = 0; at < 8; ++at) tag[half + at] = static_cast<std::uint8_t>(sum >> (8 * at));
    state.v1 ^= 0xddu;
  }
  return tag;
}

}  // namespace berth
