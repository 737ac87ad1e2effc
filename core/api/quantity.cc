#include "core/api/quantity.h"

#include <array>
#include <limits>
#include <optional>

namespace berth {

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kNano = 1'000'000'000;

struct Suffix {
  std::string_view text;
  int ten;  // power of ten
  int two;  // power of two
};
constexpr std::array<Suffix, 16> kSuffixes{{{"n", -9, 0},
                                            {"u", -6, 0},
                                            {"m", -3, 0},
                                            {"", 0, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50},
                                            {"Ei", 0, 60}}};

// A decimal number as digits: value = digits / 10^fraction. Multiplying by two and shifting the point are exact.
struct Decimal {
  std::string digits;  // most significant first
  int fraction = 0;

  void double_up() {
    int carry = 0;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      const int value = (*digit - '0') * 2 + carry;
      *digit = static_cast<char>('0' + value % 10);
      carry = value / 10;
    }
    if (carry > 0) digits.insert(digits.begin(), '1');
  }
  // Digit with the weight 10^power; '0' outside.
  char at(int power) const {
    const int index = static_cast<int>(digits.size()) - 1 - fraction - power;
    return index < 0 || index >= static_cast<int>(digits.size()) ? '0' : digits[static_cast<std::size_t>(index)];
  }
  int highest() const { return static_cast<int>(digits.size()) - 1 - fraction; }
};

Status bad(std::string_view text, const char* why) {
  return Status::error("\"" + std::string(text) + "\" is not a quantity: " + why);
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  Decimal decimal;
  bool point = false;
  std::size_t used = 0;
  for (; used < rest.size(); ++used) {
    const char c = rest[used];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      decimal.digits += c;
      if (point) ++decimal.fraction;
    } else {
      break;
    }
  }
  if (decimal.digits.empty()) return bad(text, "digits are wanted, as in \"500m\", \"2\", \"1.5Gi\"");
  if (decimal.digits.size() > 64) return bad(text, "more than 64 digits");
  rest.remove_prefix(used);
  int ten = 0;
  int two = 0;
  const bool exponent_form = rest.size() > 1 && (rest[0] == 'e' || rest[0] == 'E') &&
                             rest.find_first_not_of("0123456789+-", 1) == std::string_view::npos;
  if (exponent_form) {
    std::string_view exponent = rest.substr(1);
    bool down = false;
    if (exponent[0] == '+' || exponent[0] == '-') {
      down = exponent[0] == '-';
      exponent.remove_prefix(1);
    }
    if (exponent.empty() || exponent.size() > 3) return bad(text, "the exponent is a number of at most three digits");
    for (const char c : exponent) {
      if (c < '0' || c > '9') return bad(text, "the exponent is a number, as in \"1e3\"");
      ten = ten * 10 + (c - '0');
    }
    if (down) ten = -ten;
  } else {
    const Suffix* found = nullptr;
    for (const Suffix& suffix : kSuffixes) {
      if (suffix.text == rest) found = &suffix;
    }
    if (found == nullptr) return bad(text, "the suffix is one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent");
    ten = found->ten;
    two = found->two;
  }
  for (int power = 0; power < two; ++power) decimal.double_up();
  decimal.fraction -= ten;

  Quantity quantity;
  bool saturated = false;
  for (int power = decimal.highest(); power >= 0 && !saturated; --power) {
    const int digit = decimal.at(power) - '0';
    saturated = quantity.units_ > (kMax - digit) / 10;
    if (!saturated) quantity.units_ = quantity.units_ * 10 + digit;
  }
  if (!saturated) {
    for (int power = -1; power >= -9; --power) quantity.nanos_ = quantity.nanos_ * 10 + (decimal.at(power) - '0');
    bool finer = false;
    for (int power = -10; power >= -decimal.fraction; --power) finer = finer || decimal.at(power) != '0';
    if (finer && ++quantity.nanos_ == kNano) {
      quantity.nanos_ = 0;
      saturated = quantity.units_ == kMax;
      if (!saturated) ++quantity.units_;
    }
  }
  if (saturated) {
    quantity.units_ = kMax;
    quantity.nanos_ = 0;
  }
  if (negative) {
    quantity.units_ = -quantity.units_;
    if (quantity.nanos_ > 0) {
      --quantity.units_;
      quantity.nanos_ = kNano - quantity.nanos_;
    }
  }
  return quantity;
}

std::int64_t Quantity::value() const { return nanos_ > 0 && units_ < kMax ? units_ + 1 : units_; }

std::int64_t Quantity::milli_value() const {
  if (units_ >= kMax / 1000) return kMax;
  if (units_ <= -(kMax / 1000)) return -kMax;
  return units_ * 1000 + (nanos_ + 999'999) / 1'000'000;
}

std::string Quantity::to_text() const {
  if (nanos_ == 0) return std::to_string(units_);
  // The coarsest of m, u, n that is exact.
  std::int64_t scale = 1000;
  const char* suffix = "m";
  if (nanos_ % 1'000'000 != 0) {
    scale = nanos_ % 1000 == 0 ? 1'000'000 : 1'000'000'000;
    suffix = nanos_ % 1000 == 0 ? "u" : "n";
  }
  const std::int64_t part = nanos_ / (kNano / scale);
  if (units_ > kMax / scale - 1 || units_ < -(kMax / scale - 1)) return std::to_string(value());
  return std::to_string(units_ * scale + part) + suffix;
}

std::string show_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 7> kNames{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < kNames.size()) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + kNames[power];
}

std::string show_milli(std::int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

}  // namespace berth
