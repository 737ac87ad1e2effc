// AES-256-GCM by OpenSSL: bytes that nobody reads or changes without the key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

using CipherKey = std::array<std::uint8_t, 32>;

// A random nonce, the encrypted bytes, and the code over these and `context`, which is not part of the result. At most
// 16 MiB. Of one key at most 2^32 texts may be made (NIST SP 800-38D).
Result<std::string> encrypt(const CipherKey& key, std::string_view context, std::string_view bytes);
// None: it was not made of this context under this key, or has changed since.
std::optional<std::string> decrypt(const CipherKey& key, std::string_view context, std::string_view encrypted);

}  // namespace berth
