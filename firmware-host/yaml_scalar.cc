#include "firmware-host/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/ascii.h"

namespace berth {
namespace {

constexpr std::uint64_t kExactMax = std::uint64_t{1} << 53;

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kTrue{"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalse{"false", "False", "FALSE"};
constexpr std::array<std::string_view, 12> kNotFinite{".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                                      "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};

std::string_view without_sign(std::string_view text) {
  return text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
}

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// [-+]? ( . [0-9]+ | [0-9]+ ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_float(std::string_view text) {
  text = without_sign(text);
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    if (!all_digits(without_sign(text.substr(e + 1)))) return false;
    text = text.substr(0, e);
  }
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return all_digits(text);
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(point + 1);
  if (!whole.empty() && !all_digits(whole)) return false;
  return fraction.empty() ? !whole.empty() : all_digits(fraction);
}

// "0o17" and "0x1F".
std::optional<Result<Json>> read_radix(std::string_view text) {
  const int base = text.starts_with("0o") ? 8 : text.starts_with("0x") ? 16 : 0;
  if (base == 0 || text.size() == 2) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, base);
  if (end != text.data() + text.size()) return std::nullopt;  // not only digits: a string
  if (error != std::errc{}) return Result<Json>(Status::error("number exceeds 64 bits; quote it to make it a string"));
  if (value > kExactMax) return Result<Json>(Json(std::to_string(value)));
  return Result<Json>(Json(static_cast<std::int64_t>(value)));
}

// "0555", octal in YAML 1.1 and so in manifests of Kubernetes.
Result<Json> read_octal(std::string_view text, std::string_view magnitude) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value, 8);
  const bool exact = error == std::errc{} && value <= static_cast<std::int64_t>(kExactMax);
  if (end == magnitude.data() + magnitude.size() && exact) return Json(text.starts_with('-') ? -value : value);
  return Status::error(
      "a number with a leading zero is octal, which has only the digits 0 to 7; leave the zero out, or use quotes for "
      "a "
      "string");
}

Result<Json> read_number(std::string_view text) {
  const std::string_view magnitude = without_sign(text);
  if (magnitude.size() > 1 && magnitude[0] == '0' && is_digit(magnitude[1])) return read_octal(text, magnitude);
  const std::string_view unsigned_text = text.starts_with('+') ? magnitude : text;
  double value = 0;
  const auto [end, error] = std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), value);
  const bool tiny = error == std::errc::result_out_of_range && unsigned_text.find('-', 1) != std::string_view::npos;
  if ((error != std::errc{} && !tiny) || std::abs(value) >= static_cast<double>(kExactMax)) {
    return Json(unsigned_text);  // as a string, to keep all digits
  }
  return Json(value);
}

}  // namespace

Result<Json> read_plain_scalar(std::string_view text) {
  if (is_one_of(text, kNull)) return Json();
  if (is_one_of(text, kTrue)) return Json(true);
  if (is_one_of(text, kFalse)) return Json(false);
  if (is_one_of(text, kNotFinite)) return Status::error("infinity and NaN are not supported; write a finite number");
  if (std::optional<Result<Json>> number = read_radix(text)) return *number;
  if (is_float(text)) return read_number(text);
  return Json(text);
}

bool is_string_when_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kOldWords{"y",   "n",  "yes", "no",   "on",
                                                              "off", "<<", "=",   "true", "false"};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (is_one_of(std::string_view(lower), kOldWords) || lower == "null") return false;
  // Text that starts like a number may be a number to some readers: dates, 1:30, 1_000, 0b1, .5.
  const std::string_view magnitude = without_sign(text);
  if (!magnitude.empty() && (is_digit(magnitude[0]) || magnitude[0] == '.')) return false;
  const Result<Json> value = read_plain_scalar(text);
  return value && value->is_string();
}

}  // namespace berth
