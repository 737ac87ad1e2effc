// Dates of the Gregorian calendar as numbers of days.
#pragma once

#include <cstdint>

namespace berth {

inline constexpr std::int64_t kSecondsPerDay = 86'400;

struct CivilDate {
  std::int64_t year = 1970;
  int month = 1;  // 1 to 12
  int day = 1;    // 1 to days_in()

  bool operator==(const CivilDate&) const = default;
};

bool is_leap_year(std::int64_t year);
int days_in(std::int64_t year, int month);
// Days since 1970-01-01. The year is 0 or later; the month may be 13 (January of the next year), and any day is counted
// from the first of the month.
std::int64_t day_number(std::int64_t year, int month, std::int64_t day);
// The reverse; not before the year 0.
CivilDate civil_date(std::int64_t day_number);
// 0: Sunday ... 6: Saturday.
int day_of_week(std::int64_t day_number);
// The day that contains a time in seconds since 1970, also before 1970.
std::int64_t day_of(std::int64_t seconds);

}  // namespace berth
