// Decimal arithmetic throughout: a quantity is digits, a decimal point and a power of ten or of two, and every step
// below is exact up to the final rounding to nano.
#include "core/api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "core/ascii.h"
#include "core/json/json.h"
#include "core/json/utf8.h"

namespace berth {
namespace {

constexpr std::int64_t kUnitsMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kNanosPerUnit = 1'000'000'000;
constexpr std::int64_t kExponentMax = 1'000'000'000;  // every number with a larger one is zero or saturates

// A suffix's factor: 10^ten * 2^two.
struct Factor {
  std::int64_t ten = 0;
  int two = 0;
};

std::optional<Factor> factor_of(std::string_view suffix) {
  struct Suffix {
    std::string_view text;
    Factor factor;
  };
  static constexpr std::array kSuffixes{
      Suffix{"", {0, 0}},    Suffix{"n", {-9, 0}},  Suffix{"u", {-6, 0}},  Suffix{"m", {-3, 0}},
      Suffix{"k", {3, 0}},   Suffix{"M", {6, 0}},   Suffix{"G", {9, 0}},   Suffix{"T", {12, 0}},
      Suffix{"P", {15, 0}},  Suffix{"E", {18, 0}},  Suffix{"Ki", {0, 10}}, Suffix{"Mi", {0, 20}},
      Suffix{"Gi", {0, 30}}, Suffix{"Ti", {0, 40}}, Suffix{"Pi", {0, 50}}, Suffix{"Ei", {0, 60}},
  };
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.factor;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  std::string_view digits = suffix.substr(1);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc{} || exponent > kExponentMax) exponent = kExponentMax;
  return Factor{negative ? -exponent : exponent, 0};
}

// A non-negative decimal number: its digits, most significant first, times 10^exponent.
struct Decimal {
  std::vector<std::uint8_t> digits;
  std::int64_t exponent = 0;

  // Times 1024.
  void times_kibi() {
    std::uint32_t carry = 0;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      const std::uint32_t product = *digit * 1024u + carry;
      *digit = static_cast<std::uint8_t>(product % 10);
      carry = product / 10;
    }
    std::vector<std::uint8_t> front;
    for (; carry != 0; carry /= 10) front.insert(front.begin(), static_cast<std::uint8_t>(carry % 10));
    digits.insert(digits.begin(), front.begin(), front.end());
  }

  // The digit for 10^power.
  std::uint8_t digit_at(std::int64_t power) const {
    const std::int64_t index = static_cast<std::int64_t>(digits.size()) - 1 - (power - exponent);
    return index >= 0 && index < static_cast<std::int64_t>(digits.size()) ? digits[static_cast<std::size_t>(index)] : 0;
  }

  // The power of ten of the most significant digit.
  std::int64_t top_power() const { return exponent + static_cast<std::int64_t>(digits.size()) - 1; }
};

struct Amount {  // units + nanos / 10^9, both >= 0
  std::int64_t units = 0;
  std::int32_t nanos = 0;
};

// Rounds up to nano and saturates at kUnitsMax.
Amount to_amount(const Decimal& decimal) {
  if (decimal.digits.empty()) return {};
  if (decimal.top_power() > 18) return {kUnitsMax, 0};
  Amount amount;
  for (std::int64_t power = 18; power >= 0; --power) {
    const std::int64_t digit = decimal.digit_at(power);
    if (amount.units > (kUnitsMax - digit) / 10) return {kUnitsMax, 0};
    amount.units = amount.units * 10 + digit;
  }
  for (std::int64_t power = -1; power >= -9; --power) amount.nanos = amount.nanos * 10 + decimal.digit_at(power);
  // Digits finer than nano, at the end of the number: round up if any is not zero.
  const std::int64_t finer =
      std::clamp<std::int64_t>(-9 - decimal.exponent, 0, static_cast<std::int64_t>(decimal.digits.size()));
  if (std::any_of(decimal.digits.end() - finer, decimal.digits.end(), [](std::uint8_t digit) { return digit != 0; })) {
    ++amount.nanos;
  }
  if (amount.nanos == kNanosPerUnit) {
    if (amount.units == kUnitsMax) return {kUnitsMax, 0};
    amount = {amount.units + 1, 0};
  }
  if (amount.units == kUnitsMax) amount.nanos = 0;
  return amount;
}

Status bad(std::string_view text, std::string_view why) {
  return Status::error("expected a quantity such as 250m, 2 or 64Mi, got " + Json(shorten(text, 64)).dump() + ": " +
                       std::string(why));
}

// Suggestions for common mistakes.
std::string wrong_suffix(std::string_view suffix) {
  std::string why = "unknown suffix " + Json(shorten(suffix, 16)).dump();
  if (suffix == "K" || suffix == "kB" || suffix == "KB") return why + "; use k (1000) or Ki (1024)";
  if (suffix == "ki" || suffix == "KiB") return why + "; use Ki";
  if (suffix.size() > 1 && suffix.ends_with('B')) return why + "; drop the B";
  return why + "; use n u m k M G T P E, Ki Mi Gi Ti Pi Ei or an exponent such as e3";
}

std::string digits_after(std::int64_t units, std::int32_t fraction, int width) {
  const std::string low = std::to_string(fraction);
  std::string text = std::to_string(units) + std::string(static_cast<std::size_t>(width) - low.size(), '0') + low;
  text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
  return text;
}

}  // namespace

Quantity Quantity::from_parts(std::int64_t units, std::int32_t nanos) {
  Quantity quantity(units);
  if (nanos >= 0 && nanos < 1'000'000'000) quantity.nanos_ = nanos;
  return quantity;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  std::size_t at = 0;
  if (text.empty()) return bad(text, "it is empty");
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') ++at;
  Decimal decimal;
  std::size_t seen = 0;
  bool point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    ++seen;
    if (point) --decimal.exponent;
    const auto digit = static_cast<std::uint8_t>(text[at] - '0');
    if (digit != 0 || !decimal.digits.empty()) decimal.digits.push_back(digit);  // no leading zeros
  }
  if (seen == 0) return bad(text, "it has no digits");
  const std::string_view suffix = text.substr(at);
  const std::optional<Factor> factor = factor_of(suffix);
  if (!factor) return bad(text, wrong_suffix(suffix));
  for (int two = 0; two < factor->two; two += 10) decimal.times_kibi();
  decimal.exponent += factor->ten;

  const Amount amount = to_amount(decimal);
  Quantity quantity;
  quantity.units_ = amount.units;
  quantity.nanos_ = amount.nanos;
  if (negative) {
    quantity.units_ = amount.nanos == 0 ? -amount.units : -amount.units - 1;
    quantity.nanos_ = amount.nanos == 0 ? 0 : kNanosPerUnit - amount.nanos;
  }
  return quantity;
}

Quantity Quantity::from_milli(std::int64_t milli) {
  Quantity quantity(milli / 1000);
  quantity.nanos_ = static_cast<std::int32_t>(milli % 1000) * 1'000'000;
  if (quantity.nanos_ < 0) {
    --quantity.units_;
    quantity.nanos_ += kNanosPerUnit;
  }
  return quantity;
}

Quantity operator+(const Quantity& a, const Quantity& b) {
  const std::int32_t carry = (a.nanos_ + b.nanos_ >= kNanosPerUnit) ? 1 : 0;
  Quantity sum;
  sum.nanos_ = a.nanos_ + b.nanos_ - carry * kNanosPerUnit;
  if (__builtin_add_overflow(a.units_, b.units_, &sum.units_) || sum.units_ > kUnitsMax - carry) {
    return Quantity(a.units_ < 0 && b.units_ < 0 ? std::numeric_limits<std::int64_t>::min() : kUnitsMax);
  }
  sum.units_ += carry;
  return sum;
}

std::int64_t Quantity::value() const {
  if (nanos_ == 0 || units_ < 0) return units_;  // the units of a negative one are already rounded away from zero
  return units_ == kUnitsMax ? kUnitsMax : units_ + 1;
}

std::int64_t Quantity::milli_value() const {
  // As sign and magnitude, so that both ends saturate symmetrically.
  if (units_ < -kUnitsMax / 1000 - 1) return -kUnitsMax;
  const bool negative = units_ < 0;
  const std::int64_t units = negative ? -(units_ + (nanos_ == 0 ? 0 : 1)) : units_;
  const std::int32_t nanos = negative && nanos_ != 0 ? kNanosPerUnit - nanos_ : nanos_;
  const std::int64_t milli = (nanos + 999'999) / 1'000'000;
  const std::int64_t magnitude = units > (kUnitsMax - milli) / 1000 ? kUnitsMax : units * 1000 + milli;
  return negative ? -magnitude : magnitude;
}

std::string Quantity::to_text() const {
  const bool negative = units_ < 0;
  if (nanos_ == 0) return std::to_string(units_);
  const std::int64_t units = negative ? -(units_ + 1) : units_;
  const std::int32_t nanos = negative ? kNanosPerUnit - nanos_ : nanos_;
  const std::string sign = negative ? "-" : "";
  if (nanos % 1'000'000 == 0) return sign + digits_after(units, nanos / 1'000'000, 3) + "m";
  if (nanos % 1'000 == 0) return sign + digits_after(units, nanos / 1'000, 6) + "u";
  return sign + digits_after(units, nanos, 9) + "n";
}

std::string show_bytes(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 7> kSuffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t suffix = 0;
  while (bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++suffix;
  }
  return std::to_string(bytes) + std::string(kSuffixes[suffix]);
}

std::string show_milli(std::int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

}  // namespace berth
