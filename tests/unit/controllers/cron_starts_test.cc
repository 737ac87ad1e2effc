#include "core/controllers/cron_job/cron_starts.h"

#include <gtest/gtest.h>

#include "tests/unit/controllers/zone_files.h"

namespace berth {
namespace {

CronSchedule make_schedule(std::string_view text) { return *CronSchedule::parse(text, ZoneFiles()); }

std::string show_due(const Result<DueStart>& due) {
  if (!due) return "error";
  const std::string missed = due->missed == DueStart::Missed::none  ? ""
                             : due->missed == DueStart::Missed::few ? ", few missed"
                                                                    : ", many missed";
  return (due->time ? to_timestamp(*due->time * 1000) : "none") + missed;
}

class CronStarts : public ::testing::Test {
 protected:
  std::string due(std::string_view schedule, std::string_view now) const {
    return show_due(due_start(make_schedule(schedule), history, at_time(now)));
  }
  std::string look(std::string_view schedule, std::string_view now) const {
    const std::optional<std::int64_t> time = next_look(make_schedule(schedule), history, at_time(now));
    return time ? to_timestamp(*time * 1000) : "never";
  }
  CronHistory history{.created = at_time("2026-01-05T10:00:00Z"), .last_start = {}, .start_deadline = {}};
};

TEST_F(CronStarts, NothingIsDueBeforeTheFirstTime) {
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:09:59Z"), "none");
  EXPECT_EQ(look("*/10 * * * *", "2026-01-05T10:09:59Z"), "2026-01-05T10:10:00Z");
}

TEST_F(CronStarts, AStartIsDueUntilTheNext) {
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:10:00Z"), "2026-01-05T10:10:00Z");
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:19:59Z"), "2026-01-05T10:10:00Z");
  EXPECT_EQ(look("*/10 * * * *", "2026-01-05T10:10:00Z"), "2026-01-05T10:20:00Z");
}

TEST_F(CronStarts, TheLastStartCountsInsteadOfTheCreation) {
  history.last_start = at_time("2026-01-05T10:30:00Z");
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:39:59Z"), "none");
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:40:00Z"), "2026-01-05T10:40:00Z");
}

TEST_F(CronStarts, MissedStartsAreCounted) {
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T10:20:00Z"), "2026-01-05T10:20:00Z, few missed");
  EXPECT_EQ(due("* * * * *", "2026-01-05T11:40:59Z"), "2026-01-05T11:40:00Z, few missed");
  EXPECT_EQ(due("* * * * *", "2026-01-05T11:41:00Z"), "2026-01-05T11:41:00Z, many missed");
}

TEST_F(CronStarts, TheDeadlineLimitsHowFarBackIsLooked) {
  history.start_deadline = 90;
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T12:01:30Z"), "none");
  EXPECT_EQ(due("*/10 * * * *", "2026-01-05T12:01:29Z"), "2026-01-05T12:00:00Z");
  EXPECT_EQ(look("*/10 * * * *", "2026-01-05T12:01:30Z"), "2026-01-05T12:10:00Z");
}

// The estimate is from the first two times, one minute apart, and puts the search after the last time.
TEST_F(CronStarts, AnUnevenScheduleMayHideTheLatestStart) {
  EXPECT_EQ(due("0,1 12 * * *", "2026-01-06T11:00:00Z"), "none, many missed");
  EXPECT_EQ(look("0,1 12 * * *", "2026-01-06T11:00:00Z"), "2026-01-06T12:00:00Z");
}

TEST_F(CronStarts, AnIntervalCountsFromTheCreation) {
  history.created = at_time("2026-01-05T10:00:07Z");
  EXPECT_EQ(due("@every 1h", "2026-01-05T15:30:00Z"), "2026-01-05T15:00:07Z, few missed");
}

TEST_F(CronStarts, AScheduleThatNeverMatchesIsAnError) {
  EXPECT_EQ(due("0 0 30 2 *", "2026-01-05T10:00:00Z"), "error");
  EXPECT_EQ(look("0 0 30 2 *", "2026-01-05T10:00:00Z"), "never");
}

}  // namespace
}  // namespace berth
