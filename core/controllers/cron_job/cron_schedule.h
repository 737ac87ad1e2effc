// CronSchedule: the times of a schedule, as github.com/robfig/cron v3 finds them (parser.go, ParseStandard; spec.go,
// Next; constantdelay.go), which Kubernetes' CronJob controller uses. All times are in seconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/controllers/cron_job/cron_field.h"
#include "core/controllers/time_zones/time_zone.h"
#include "core/status.h"

namespace berth {

class CronSchedule {
 public:
  // "[TZ=<zone> |CRON_TZ=<zone> ]" before five fields (minute, hour, day of month, month, day of week), "@hourly",
  // "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", or "@every <duration>". Without a zone the
  // times are of UTC. The error says which part is wrong.
  static Result<CronSchedule> parse(std::string_view text, const TimeZoneFiles& files);
  // A CronJob's schedule with its timeZone, or "" (cronjob_controllerv2.go, formatSchedule): a schedule that has a zone
  // of its own is read without the given one, and so is any if that zone is unknown.
  static Result<CronSchedule> parse_in(std::string_view text, std::string_view zone, const TimeZoneFiles& files);
  // Whether a schedule has a zone of its own, which Kubernetes warns about; like it, by the letters alone.
  static bool has_own_zone(std::string_view text) { return text.find("TZ") != std::string_view::npos; }

  // The first time after the given one; none if there is none in the next five years, as on 30 February.
  //
  // Fields are compared with what the clocks of the zone show, one after the other. So a time that clocks skip is left
  // out, and one that they show twice comes twice, unless minute and hour do not matter.
  std::optional<std::int64_t> next(std::int64_t after) const;

 private:
  // If both days are restricted, either is enough.
  struct Calendar {
    CronField minute, hour, day_of_month, month, day_of_week;
    TimeZone zone;
  };
  struct Interval {
    std::int64_t seconds;
  };
  class Walk;

  static Result<Calendar> parse_fields(std::string_view text);
  static Result<CronSchedule> parse_descriptor(std::string_view text);

  explicit CronSchedule(Calendar calendar) : times_(std::move(calendar)) {}
  explicit CronSchedule(Interval interval) : times_(interval) {}

  std::variant<Calendar, Interval> times_;
};

}  // namespace berth
