#include "core/controllers/cron_job/go_duration.h"

#include <array>

#include "core/ascii.h"

namespace berth {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array kUnits{
    Unit{"ns", 1},          Unit{"us", 1'000},        Unit{"\u00b5s", 1'000},  // the micro sign
    Unit{"\u03bcs", 1'000},                                                    // the Greek letter
    Unit{"ms", 1'000'000},  Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000}, Unit{"h", 3'600'000'000'000}};
constexpr std::uint64_t kMost = std::uint64_t{1} << 63;

// The digits at the front of the text, which are removed. Whole numbers beyond kMost are none.
std::optional<std::uint64_t> take_whole(std::string_view& text) {
  std::uint64_t value = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    const auto digit = static_cast<std::uint64_t>(text.front() - '0');
    if (value > (kMost - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

double take_fraction(std::string_view& text) {
  double value = 0;
  double scale = 1;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    value = value * 10 + (text.front() - '0');
    scale *= 10;
  }
  return value / scale;
}

std::uint64_t take_unit(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] != '.' && !is_digit(text[size])) ++size;
  const std::string_view name = text.substr(0, size);
  text.remove_prefix(size);
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  return 0;
}

// One number and its unit.
std::optional<std::uint64_t> take_part(std::string_view& text) {
  const std::size_t before = text.size();
  const std::optional<std::uint64_t> whole = take_whole(text);
  if (!whole) return std::nullopt;
  bool has_digits = text.size() != before;
  double fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t point = text.size();
    fraction = take_fraction(text);
    has_digits = has_digits || text.size() != point;
  }
  const std::uint64_t unit = take_unit(text);
  if (!has_digits || unit == 0 || *whole > kMost / unit) return std::nullopt;
  return *whole * unit + static_cast<std::uint64_t>(fraction * static_cast<double>(unit));
}

}  // namespace

std::optional<std::int64_t> parse_go_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  while (!text.empty()) {
    const std::optional<std::uint64_t> part = take_part(text);
    if (!part || *part > kMost || sum + *part > kMost) return std::nullopt;
    sum += *part;
  }
  if (negative) return static_cast<std::int64_t>(~sum + 1);
  return sum == kMost ? std::nullopt : std::optional(static_cast<std::int64_t>(sum));
}

}  // namespace berth
