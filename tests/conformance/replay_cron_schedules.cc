// Schedules of CronJobs: the next times, the start that is due, and when to look again.
#include <optional>

#include "core/api/timestamp.h"
#include "core/controllers/cron_job/cron_schedule.h"
#include "core/controllers/cron_job/cron_starts.h"
#include "firmware-host/gateway/time_zone_folder.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

std::optional<std::int64_t> seconds_of(const Json& time) {
  const std::optional<std::int64_t> milliseconds = parse_timestamp(text(time));
  return milliseconds ? std::optional(*milliseconds / 1000) : std::nullopt;
}

std::string time_text(std::optional<std::int64_t> seconds) { return seconds ? to_timestamp(*seconds * 1000) : "none"; }

void compare_text(const std::string& what, const std::string& got, const std::string& want, Verdict& verdict) {
  if (got != want) verdict.differences.push_back(what + ": got " + got + ", want " + want);
}

std::string missed_text(DueStart::Missed missed) {
  switch (missed) {
    case DueStart::Missed::none: return "none";
    case DueStart::Missed::few: return "few";
    case DueStart::Missed::many: return "many";
  }
  return "";
}

void compare_due(const CronSchedule& schedule, const Json& input, const Json& expect, Verdict& verdict) {
  const std::int64_t now = seconds_of(at(input, "now")).value_or(0);
  CronHistory history{.created = seconds_of(at(input, "created")).value_or(now),
                      .last_start = seconds_of(at(input, "lastScheduleTime")),
                      .start_deadline = {}};
  if (at(input, "startingDeadlineSeconds").is_integer()) {
    history.start_deadline = at(input, "startingDeadlineSeconds").as_int();
  }
  const Result<DueStart> due = due_start(schedule, history, now);
  compare_text("error", due ? "" : due.error().message(), text(at(expect, "error")), verdict);
  compare_text("missed", missed_text(due ? due->missed : DueStart::Missed::none), text(at(expect, "missed")), verdict);
  compare_text("mostRecent", time_text(due ? due->time : std::nullopt), time_text(seconds_of(at(expect, "mostRecent"))),
               verdict);
  if (!due) return;  // it is not looked at again
  const std::int64_t look = next_look(schedule, history, now).value_or(now);
  compare_text("requeueAfterMs", std::to_string((look - now) * 1000),
               std::to_string(number(at(expect, "requeueAfterMs"))), verdict);
}

}  // namespace

Verdict replay_cron_schedule(const Json& test_case) {
  const Json& input = at(test_case, "input");
  const Json& expect = at(test_case, "expect");
  const TimeZoneFolder zones;
  Verdict verdict;
  const Result<CronSchedule> schedule =
      CronSchedule::parse_in(text(at(input, "schedule")), text(at(input, "timeZone")), zones);
  const bool parses = at(expect, "parseError").is_null();
  if (!schedule || !parses) {
    if (schedule) verdict.differences.emplace_back("parses: got yes, want no");
    if (parses) verdict.differences.push_back("parses: got " + schedule.error().message() + ", want yes");
  } else {
    std::vector<std::string> times;
    std::optional<std::int64_t> time = seconds_of(at(input, "now"));
    for (int i = 0; i < 5; ++i) {
      time = schedule->next(*time);
      if (!time) break;
      times.push_back(time_text(time));
    }
    compare_text("next", show(times), show(strings(at(expect, "next"))), verdict);
    compare_due(*schedule, input, expect, verdict);
  }
  verdict.same = verdict.differences.empty() ? 1 : 0;
  return verdict;
}

}  // namespace berth
