#include "firmware-host/ctl/duration.h"

#include <algorithm>
#include <charconv>

namespace berth {

std::optional<Millis> parse_duration(const std::string& text) {
  constexpr Millis kAgeMax = Millis{366} * 24 * 3600 * 1000;
  Millis age = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    Millis number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > kAgeMax) return std::nullopt;
    const auto from = static_cast<std::size_t>(end - text.data());
    const std::size_t next = std::min(text.find_first_of("0123456789", from), text.size());
    const std::string unit = text.substr(from, next - from);
    const Millis one = unit == "ms" ? 1 : unit == "s" ? 1'000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
    if (one == 0) return std::nullopt;
    age += number * one;
    if (age > kAgeMax) return std::nullopt;
    at = next;
  }
  return text.empty() ? std::nullopt : std::optional(age);
}

}  // namespace berth
