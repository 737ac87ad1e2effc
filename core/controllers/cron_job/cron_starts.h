// Which start of a CronJob is due, and when to look again (pkg/controller/cronjob/utils.go: mostRecentScheduleTime,
// nextScheduleTimeDuration). All times are in seconds since 1970.
#pragma once

#include <cstdint>
#include <optional>

#include "core/controllers/cron_job/cron_schedule.h"
#include "core/status.h"

namespace berth {

// What a CronJob says of its starts.
struct CronHistory {
  std::int64_t created = 0;
  std::optional<std::int64_t> last_start;      // status.lastScheduleTime
  std::optional<std::int64_t> start_deadline;  // spec.startingDeadlineSeconds
};

struct DueStart {
  enum class Missed { none, few, many };  // many: more than 100
  std::optional<std::int64_t> time;       // the latest one that is not after now
  Missed missed = Missed::none;           // an estimate, from the distance of the first two
};

// Starts before the deadline are not looked at. An error if the schedule has fewer than two times from there on.
Result<DueStart> due_start(const CronSchedule& schedule, const CronHistory& history, std::int64_t now);
// The time after now at which the CronJob is to be looked at again. None if the schedule has no further time.
std::optional<std::int64_t> next_look(const CronSchedule& schedule, const CronHistory& history, std::int64_t now);

}  // namespace berth
