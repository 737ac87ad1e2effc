#include "core/controllers/time_zones/posix_zone.h"

#include <algorithm>

#include "core/api/civil_date.h"
#include "core/ascii.h"

namespace berth {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads from the front of a rule. Each function is false, or none, if what it looks for is not there.
class RuleScanner {
 public:
  explicit RuleScanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool sees(char c) const { return rest_.starts_with(c); }
  bool accept(char c) {
    if (!sees(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // At least three letters, or anything of letters, digits and signs in <>.
  bool abbreviation() {
    const bool quoted = accept('<');
    std::size_t size = 0;
    while (size < rest_.size() && (is_letter(rest_[size]) || (quoted && is_quotable(rest_[size])))) ++size;
    rest_.remove_prefix(size);
    return size >= 3 && (!quoted || accept('>'));
  }
  std::optional<int> number(int min, int max) {
    std::size_t size = 0;
    int value = 0;
    for (; size < rest_.size() && size < 4 && is_digit(rest_[size]); ++size) value = value * 10 + (rest_[size] - '0');
    rest_.remove_prefix(size);
    return size == 0 || value < min || value > max ? std::nullopt : std::optional(value);
  }
  // "[+-]hh[:mm[:ss]]" in seconds.
  std::optional<std::int32_t> time(int max_hours) {
    const bool negative = accept('-');
    if (!negative) accept('+');
    const std::optional<int> hours = number(0, max_hours);
    if (!hours) return std::nullopt;
    std::int32_t seconds = *hours * 3600;
    for (const int unit : {60, 1}) {
      if (!accept(':')) break;
      const std::optional<int> part = number(0, 59);
      if (!part) return std::nullopt;
      seconds += *part * unit;
    }
    return negative ? -seconds : seconds;
  }

 private:
  static bool is_quotable(char c) { return is_digit(c) || c == '+' || c == '-'; }

  std::string_view rest_;
};

// Offsets of POSIX count westwards.
std::optional<std::int32_t> read_offset(RuleScanner& scan) {
  const std::optional<std::int32_t> west = scan.time(24);
  return west ? std::optional(-*west) : std::nullopt;
}

bool read_day(RuleScanner& scan, YearlyTime& to) {
  std::optional<int> day;
  if (scan.accept('M')) {
    to.kind = YearlyTime::Kind::weekday_of_month;
    const std::optional<int> month = scan.number(1, 12);
    if (!month || !scan.accept('.')) return false;
    const std::optional<int> week = scan.number(1, 5);
    if (!week || !scan.accept('.')) return false;
    to.month = *month;
    to.week = *week;
    day = scan.number(0, 6);
  } else if (scan.accept('J')) {
    to.kind = YearlyTime::Kind::day_without_leap;
    day = scan.number(1, 365);
  } else {
    to.kind = YearlyTime::Kind::day;
    day = scan.number(0, 365);
  }
  if (day) to.day = *day;
  return day.has_value();
}

// ",M3.5.0[/2]"
std::optional<YearlyTime> read_yearly_time(RuleScanner& scan) {
  constexpr int kMaxHours = 167;  // RFC 8536, 3.3.1: more than POSIX allows
  YearlyTime found{.time = 2 * 3600};
  if (!scan.accept(',') || !read_day(scan, found)) return std::nullopt;
  if (scan.accept('/')) {
    const std::optional<std::int32_t> time = scan.time(kMaxHours);
    if (!time) return std::nullopt;
    found.time = *time;
  }
  return found;
}

}  // namespace

std::int64_t YearlyTime::in_year(std::int64_t year) const {
  std::int64_t number = day_number(year, 1, 1);
  switch (kind) {
    case Kind::day_without_leap: number += day - 1 + (is_leap_year(year) && day >= 60 ? 1 : 0); break;
    case Kind::day: number += day; break;
    case Kind::weekday_of_month: {
      const std::int64_t first = day_number(year, month, 1);
      const int to_weekday = (day - day_of_week(first) + 7) % 7;
      const int last_week = (days_in(year, month) - 1 - to_weekday) / 7;
      number = first + to_weekday + std::min(week - 1, last_week) * 7;
    }
  }
  return number * kSecondsPerDay + time;
}

std::optional<PosixZone> PosixZone::parse(std::string_view text) {
  RuleScanner scan(text);
  if (!scan.abbreviation()) return std::nullopt;
  const std::optional<std::int32_t> standard = read_offset(scan);
  if (!standard) return std::nullopt;
  PosixZone zone{.offset = *standard, .summer = {}};
  if (scan.at_end()) return zone;
  if (!scan.abbreviation()) return std::nullopt;
  Summer summer{.offset = zone.offset + 3600, .begin = {}, .end = {}};
  if (!scan.sees(',')) {
    const std::optional<std::int32_t> offset = read_offset(scan);
    if (!offset) return std::nullopt;
    summer.offset = *offset;
  }
  const std::optional<YearlyTime> begin = read_yearly_time(scan);
  const std::optional<YearlyTime> end = begin ? read_yearly_time(scan) : std::nullopt;
  if (!end || !scan.at_end()) return std::nullopt;
  summer.begin = *begin;
  summer.end = *end;
  zone.summer = summer;
  return zone;
}

std::int32_t PosixZone::offset_at(std::int64_t utc) const {
  if (!summer) return offset;
  // All times of one year of standard time, on a clock that shows it: then a rule of which summer is the whole year has
  // no gap at its ends.
  const std::int64_t now = utc + offset;
  const std::int64_t year = civil_date(day_of(now)).year;
  const std::int64_t begin = summer->begin.in_year(year);
  const std::int64_t end = summer->end.in_year(year) - (summer->offset - offset);
  // South of the equator summer ends before it begins.
  const bool is_summer = begin <= end ? begin <= now && now < end : now < end || begin <= now;
  return is_summer ? summer->offset : offset;
}

}  // namespace berth
