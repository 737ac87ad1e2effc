// PosixZone: the rule of a time zone as the POSIX variable TZ writes it: "CET-1CEST,M3.5.0,M10.5.0/3". A TZif file ends
// with one, for times after its last transition (RFC 8536, sections 3.3 and 3.3.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth {

// A moment that comes once a year.
struct YearlyTime {
  enum class Kind {
    day_without_leap,  // "J60": 1 to 365, and 29 February is not counted: 60 is always 1 March
    day,               // "59": 0 to 365, with 29 February
    weekday_of_month,  // "M3.5.0": the given weekday (0: Sunday) of week 1 to 5 (5: the last one) of a month
  };
  Kind kind = Kind::day;
  int day = 0;    // weekday of the last kind
  int month = 0;  // of the last kind only, as week
  int week = 0;
  std::int32_t time = 0;  // seconds after midnight of that day; from -167 to 167 hours

  // Seconds since 1970, as if wall clocks showed UTC.
  std::int64_t in_year(std::int64_t year) const;
};

struct PosixZone {
  struct Summer {
    std::int32_t offset;  // seconds east of Greenwich
    YearlyTime begin;     // on a clock that shows standard time
    YearlyTime end;       // on a clock that shows summer time
  };
  std::int32_t offset = 0;       // of standard time, seconds east of Greenwich
  std::optional<Summer> summer;  // without it standard time always applies

  // None if the text is not such a rule. Abbreviations are checked and left out.
  static std::optional<PosixZone> parse(std::string_view text);
  // At a time in seconds since 1970.
  std::int32_t offset_at(std::int64_t utc) const;
};

}  // namespace berth
