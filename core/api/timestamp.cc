#include "core/api/timestamp.h"

#include <algorithm>

#include "core/api/civil_date.h"
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

std::string digits_of(std::int64_t value, std::size_t count) {
  std::string text = std::to_string(value);
  return std::string(count - std::min(count, text.size()), '0') + text;
}

}  // namespace

std::string to_timestamp(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  const CivilDate date = civil_date(day_of(seconds));
  return digits_of(date.year, 4) + "-" + digits_of(date.month, 2) + "-" + digits_of(date.day, 2) + "T" +
         digits_of(seconds / 3600 % 24, 2) + ":" + digits_of(seconds / 60 % 60, 2) + ":" + digits_of(seconds % 60, 2) +
         "Z";
}

std::string to_timestamp_in_zone(std::int64_t milliseconds, std::int32_t offset) {
  std::string text = to_timestamp(milliseconds + std::int64_t{offset} * 1000);
  if (offset == 0) return text;
  const std::int32_t minutes = (offset < 0 ? -offset : offset) / 60;
  text.back() = offset < 0 ? '-' : '+';
  return text + digits_of(minutes / 60, 2) + ":" + digits_of(minutes % 60, 2);
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
  if (!scan.at_end() || month < 1 || month > 12) return std::nullopt;
  if (day < 1 || day > days_in(year, static_cast<int>(month))) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t minutes = (day_number(year, static_cast<int>(month), day) * 24 + hour) * 60 + minute - offset;
  return (minutes * 60 + second) * 1000 + milli;
}

}  // namespace berth
