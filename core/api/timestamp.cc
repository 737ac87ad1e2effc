#include "core/api/timestamp.h"

#include <algorithm>
#include <array>

#include "core/ascii.h"

namespace berth {
namespace {

// Reads from the front of a text; after the first mismatch every read fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::int64_t number(std::size_t digits) {
    if (rest_.size() < digits || !std::all_of(rest_.begin(), rest_.begin() + digits, is_digit)) return fail();
    std::int64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + (rest_[i] - '0');
    rest_.remove_prefix(digits);
    return value;
  }
  bool accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  // The digits after a decimal point, in thousandths.
  std::int64_t fraction() {
    if (!accept('.')) return 0;
    if (rest_.empty() || !is_digit(rest_.front())) return fail();
    std::int64_t thousandths = 0;
    for (std::int64_t unit = 100; !rest_.empty() && is_digit(rest_.front()); unit /= 10) {
      thousandths += unit * (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return thousandths;
  }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::int64_t fail() {
    good_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool good_ = true;
};

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  static constexpr std::array kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// Days since 1970-01-01, computed in eras of 400 years that start on 1 March.
std::int64_t day_number(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::int64_t kDaysPerEra = 146'097;
  constexpr std::int64_t kDaysTo1970 = 719'468;                       // from 0000-03-01
  const std::int64_t shifted = month <= 2 ? year + 399 : year + 400;  // one era later, so that none is negative
  const std::int64_t of_era = shifted % 400;
  const std::int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return (shifted / 400 - 1) * kDaysPerEra + of_era * 365 + of_era / 4 - of_era / 100 + of_year - kDaysTo1970;
}

std::string digits_of(std::int64_t value, std::size_t count) {
  std::string text = std::to_string(value);
  return std::string(count - std::min(count, text.size()), '0') + text;
}

}  // namespace

std::string to_timestamp(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  const std::int64_t days = seconds / 86'400;
  std::int64_t year = 1970 + days / 366;  // not too late
  while (day_number(year + 1, 1, 1) <= days) ++year;
  std::int64_t month = 1;
  while (month < 12 && day_number(year, month + 1, 1) <= days) ++month;
  const std::int64_t day = days - day_number(year, month, 1) + 1;
  return digits_of(year, 4) + "-" + digits_of(month, 2) + "-" + digits_of(day, 2) + "T" +
         digits_of(seconds / 3600 % 24, 2) + ":" + digits_of(seconds / 60 % 60, 2) + ":" + digits_of(seconds % 60, 2) +
         "Z";
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  Scanner scan(text);
  const std::int64_t year = scan.number(4);
  scan.expect('-');
  const std::int64_t month = scan.number(2);
  scan.expect('-');
  const std::int64_t day = scan.number(2);
  scan.expect('T');
  const std::int64_t hour = scan.number(2);
  scan.expect(':');
  const std::int64_t minute = scan.number(2);
  scan.expect(':');
  const std::int64_t second = scan.number(2);
  const std::int64_t milli = scan.fraction();
  std::int64_t offset = 0;  // minutes east of Greenwich
  if (!scan.accept('Z')) {
    const bool west = scan.accept('-');
    if (!west) scan.expect('+');
    const std::int64_t hours = scan.number(2);
    scan.expect(':');
    const std::int64_t minutes = scan.number(2);
    if (hours > 23 || minutes > 59) return std::nullopt;
    offset = (west ? -1 : 1) * (hours * 60 + minutes);
  }
  if (!scan.at_end() || month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t minutes = (day_number(year, month, day) * 24 + hour) * 60 + minute - offset;
  return (minutes * 60 + second) * 1000 + milli;
}

}  // namespace berth
