#include "core/api/civil_date.h"

#include <array>

namespace berth {
namespace {

// Eras of 400 years, of equal length, that begin on 1 March, so that a leap day is the last day of its year.
constexpr std::int64_t kDaysPerEra = 146'097;
constexpr std::int64_t kDaysTo1970 = 719'468;  // from 0000-03-01

// Days before a month, counted from March (0).
constexpr std::int64_t days_before(std::int64_t month_from_march) { return (153 * month_from_march + 2) / 5; }

}  // namespace

bool is_leap_year(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in(std::int64_t year, int month) {
  static constexpr std::array kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap_year(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

std::int64_t day_number(std::int64_t year, int month, std::int64_t day) {
  if (month > 12) return day_number(year + 1, month - 12, day);
  const std::int64_t shifted = month <= 2 ? year + 399 : year + 400;  // one era later, so that none is negative
  const std::int64_t of_era = shifted % 400;
  const std::int64_t of_year = days_before(month > 2 ? month - 3 : month + 9) + day - 1;
  return (shifted / 400 - 1) * kDaysPerEra + of_era * 365 + of_era / 4 - of_era / 100 + of_year - kDaysTo1970;
}

CivilDate civil_date(std::int64_t day_number) {
  const std::int64_t shifted = day_number + kDaysTo1970 + kDaysPerEra;  // one era later, as above
  const std::int64_t of_era = shifted % kDaysPerEra;
  // Leap days are taken out: one every 4 years, none every 100, one every 400.
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (year * 365 + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;  // from March
  return {.year = (shifted / kDaysPerEra - 1) * 400 + year + (month >= 10 ? 1 : 0),
          .month = static_cast<int>(month < 10 ? month + 3 : month - 9),
          .day = static_cast<int>(of_year - days_before(month) + 1)};
}

int day_of_week(std::int64_t day_number) {
  constexpr std::int64_t kThursday = 4;  // 1970-01-01
  return static_cast<int>(((day_number + kThursday) % 7 + 7) % 7);
}

std::int64_t day_of(std::int64_t seconds) {
  return seconds >= 0 ? seconds / kSecondsPerDay : (seconds + 1) / kSecondsPerDay - 1;
}

}  // namespace berth
