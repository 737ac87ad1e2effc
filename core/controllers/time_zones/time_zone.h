// TimeZone: what clocks of a place show, for schedules of CronJobs. std::chrono has time zones too, but GCC 12's
// library does not implement them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/controllers/time_zones/posix_zone.h"
#include "core/status.h"

namespace berth {

// UTC as it is constructed.
struct TimeZone {
  struct Transition {
    std::int64_t at;      // seconds since 1970
    std::int32_t offset;  // from then on, seconds east of Greenwich
  };
  std::int32_t first_offset = 0;        // before the first transition
  std::vector<Transition> transitions;  // ascending
  std::optional<PosixZone> rule;        // from the last transition on

  std::int32_t offset_at(std::int64_t utc) const;
  // A time on the wall, in seconds as if it were UTC. A time that the clocks skip becomes one an hour (or what they
  // skip) earlier or later; of one that they show twice either is returned. Which one is as with Go's time.Date, on
  // which schedules depend.
  std::int64_t utc_of(std::int64_t wall) const;
};

// A compiled file of the IANA time zone database, in version 2 or later (RFC 8536). Leap seconds are ignored: the clock
// does not count them. The error says what is wrong with the bytes.
Result<TimeZone> parse_tzif(std::string_view bytes);

// TimeZoneFiles interface: the time zone database of this machine.
class TimeZoneFiles {
 public:
  virtual ~TimeZoneFiles() = default;
  // The bytes of the file; none if there is none. The name was checked: it leads to no other folder.
  virtual std::optional<std::string> read(std::string_view name) const = 0;
};

// Whether this can be the name of a zone: parts of letters, digits, '.', '-', '_' and '+', 14 at most, and none of them
// "." or "..", separated by '/' (pkg/apis/batch/validation/validation.go, validateTimeZone).
bool is_time_zone_name(std::string_view name);
// "UTC" needs no file. Read at each call, so that an update of the database is seen without a restart. The error names
// the zone.
Result<TimeZone> load_time_zone(std::string_view name, const TimeZoneFiles& files);

}  // namespace berth
