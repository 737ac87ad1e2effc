#include "core/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace berth {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  std::size_t in_group = 0, padding = 0;
  const auto wrong = [](std::size_t at) {
    return Status::error("expected base64, wrong at byte " + std::to_string(at));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' || text[at] == '\r') continue;
    const std::uint32_t value = kValues[static_cast<unsigned char>(text[at])];
    const bool pads = text[at] == '=' && in_group >= 2;
    // Behind padding comes only more of it, to the end of its group, which is the last one.
    if (!pads && (value == kNoDigit || padding > 0)) return wrong(at);
    if (pads) ++padding;
    group = group << 6 | (pads ? 0u : value);
    if (++in_group < 4) continue;
    for (std::size_t i = 0; i + padding < 3; ++i) bytes += static_cast<char>(group >> (16 - 8 * i));
    in_group = 0;
  }
  if (in_group != 0) return wrong(text.size());
  return bytes;
}

}  // namespace berth
