// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, 2012): a message authentication code for short messages.
// Our own, since programs without TLS have no cryptographic library.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth {

using SipKey = std::array<std::uint8_t, 16>;
using SipTag = std::array<std::uint8_t, 16>;

SipTag siphash(const SipKey& key, std::string_view message);

}  // namespace berth
