// CronField: one of the five fields of a schedule: "*/15", "1-5", "mon,wed" (github.com/robfig/cron/v3, parser.go).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/status.h"

namespace berth {

struct CronField {
  std::uint64_t values = 0;  // a bit for each; none if the field has no element: it never matches then
  // Whether one of the elements is "*", "?" or either with the step 1: the field restricts nothing then, which matters
  // for days (CronSchedule).
  bool is_any = false;

  bool has(int value) const { return (values >> value & 1) != 0; }
};

struct CronBounds {
  int min;
  int max;
  std::span<const std::string_view> names;  // of min, min + 1 ...: in lower case; empty if the values have no names
};

inline CronField every_value(const CronBounds& bounds) {
  return {.values = (std::uint64_t{2} << bounds.max) - (std::uint64_t{1} << bounds.min), .is_any = true};
}
// A list of values, ranges "a-b", steps "*/n", "a-b/n" and "a/n" (from a to the maximum), separated by commas; empty
// elements are ignored. The texts of errors are the library's, as they end up in events.
Result<CronField> parse_cron_field(std::string_view text, const CronBounds& bounds);

}  // namespace berth
