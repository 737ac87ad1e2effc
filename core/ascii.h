// Characters of ASCII, whatever the locale.
#pragma once

namespace berth {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace berth
