#include "core/controllers/cron_job/cron_schedule.h"

#include <gtest/gtest.h>

#include "tests/unit/controllers/zone_files.h"

namespace berth {
namespace {

using Times = std::vector<std::string>;

Times next_times(std::string_view schedule, std::string_view zone, std::string_view after, int count) {
  const Result<CronSchedule> parsed = CronSchedule::parse_in(schedule, zone, ZoneFiles());
  if (!parsed) return {"error: " + parsed.error().message()};
  Times times;
  std::optional<std::int64_t> time = at_time(after);
  while (count-- > 0 && (time = parsed->next(*time))) times.push_back(to_timestamp(*time * 1000));
  return times;
}

TEST(CronSchedule, ATimeThatTheClocksSkipIsLeftOutThatDay) {
  EXPECT_EQ(next_times("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 3),
            (Times{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"}));
  EXPECT_EQ(next_times("15 2 29 3 *", "Europe/Berlin", "2026-03-28T22:00:00Z", 1), (Times{"2027-03-29T00:15:00Z"}));
}

TEST(CronSchedule, ATimeThatTheClocksShowTwiceComesTwice) {
  EXPECT_EQ(next_times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
            (Times{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}));
  EXPECT_EQ(next_times("30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", 3),
            (Times{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"}));
}

TEST(CronSchedule, HoursFollowRealTimeThroughBothChanges) {
  EXPECT_EQ(next_times("0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", 3),
            (Times{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}));
  EXPECT_EQ(next_times("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
            (Times{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}));
}

TEST(CronSchedule, SouthOfTheEquatorSummerIsInJanuary) {
  EXPECT_EQ(next_times("0 9 1 1,7 *", "Australia/Sydney", "2026-01-15T00:00:00Z", 2),
            (Times{"2026-06-30T23:00:00Z", "2026-12-31T22:00:00Z"}));
  EXPECT_EQ(next_times("30 2 * * *", "Australia/Sydney", "2026-10-02T20:00:00Z", 2),
            (Times{"2026-10-04T15:30:00Z", "2026-10-05T15:30:00Z"}));
}

TEST(CronSchedule, AZoneWithoutSummerTime) {
  EXPECT_EQ(next_times("0 9 * * *", "Asia/Kolkata", "2026-03-28T12:00:00Z", 2),
            (Times{"2026-03-29T03:30:00Z", "2026-03-30T03:30:00Z"}));
  EXPECT_EQ(next_times("*/30 * * * *", "Asia/Kolkata", "2026-03-28T12:10:00Z", 2),
            (Times{"2026-03-28T12:30:00Z", "2026-03-28T13:00:00Z"}));
}

TEST(CronSchedule, WhereClocksSkipMidnight) {
  // The day begins at 1 o'clock.
  EXPECT_EQ(next_times("0 3 4 11 *", "America/Sao_Paulo", "2018-11-01T00:00:00Z", 1), (Times{"2018-11-04T05:00:00Z"}));
  EXPECT_EQ(next_times("0 0 * * *", "America/Sao_Paulo", "2018-11-02T12:00:00Z", 2),
            (Times{"2018-11-03T03:00:00Z", "2018-11-05T02:00:00Z"}));
  // East of Greenwich robfig/cron misses the whole day when it moves there from the day before.
  EXPECT_EQ(next_times("0 3 29 3 *", "Asia/Beirut", "2026-03-27T12:00:00Z", 1), (Times{"2027-03-29T00:00:00Z"}));
  EXPECT_EQ(next_times("0 3 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", 1), (Times{"2026-03-29T00:00:00Z"}));
}

TEST(CronSchedule, ADayThatAPlaceNeverHadIsPassed) {
  EXPECT_EQ(next_times("0 12 31 12 *", "Pacific/Apia", "2011-12-28T12:00:00Z", 1), (Times{"2011-12-30T22:00:00Z"}));
}

TEST(CronSchedule, LeapDays) {
  EXPECT_EQ(next_times("0 0 29 2 *", "", "2026-01-01T00:00:00Z", 2),
            (Times{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}));
  // 2100 has none, and 2104 is more than five years away.
  EXPECT_EQ(next_times("0 0 29 2 *", "", "2098-12-31T00:00:00Z", 1), Times());
  EXPECT_EQ(next_times("0 0 29 2 *", "", "2099-01-01T00:00:00Z", 1), (Times{"2104-02-29T00:00:00Z"}));
}

TEST(CronSchedule, NeverMatching) {
  for (const std::string_view schedule :
       {"0 0 30 2 *", "0 0 31 4,6,9,11 *", ", * * * *", "* , * * *", "* * , * *", "* * * , *", "* * , * ,"}) {
    EXPECT_EQ(next_times(schedule, "Europe/Berlin", "2026-01-01T00:00:00Z", 1), Times()) << schedule;
  }
}

TEST(CronSchedule, EitherDayIsEnoughIfBothAreRestricted) {
  EXPECT_EQ(next_times("0 0 13 * 5", "", "2026-01-05T00:00:00Z", 3),
            (Times{"2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z", "2026-01-16T00:00:00Z"}));
  EXPECT_EQ(next_times("0 0 13 * */1", "", "2026-01-05T00:00:00Z", 1), (Times{"2026-01-13T00:00:00Z"}));
  EXPECT_EQ(next_times("0 0 13,* * 5", "", "2026-01-05T00:00:00Z", 2),
            (Times{"2026-01-09T00:00:00Z", "2026-01-16T00:00:00Z"}));
  EXPECT_EQ(next_times("0 0 , * 5", "", "2026-01-05T00:00:00Z", 1), (Times{"2026-01-09T00:00:00Z"}));
}

TEST(CronSchedule, IntervalsCountFromTheGivenTime) {
  EXPECT_EQ(next_times("@every 1h30m", "Europe/Berlin", "2026-01-05T10:00:07Z", 2),
            (Times{"2026-01-05T11:30:07Z", "2026-01-05T13:00:07Z"}));
  EXPECT_EQ(next_times("@every 2.9s", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-05T10:00:02Z"}));
  EXPECT_EQ(next_times("@every -1h", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-05T10:00:01Z"}));
}

TEST(CronSchedule, DescriptorsAreOfTheZone) {
  EXPECT_EQ(next_times("@daily", "Asia/Kolkata", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-05T18:30:00Z"}));
  EXPECT_EQ(next_times("@weekly", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-11T00:00:00Z"}));
  EXPECT_EQ(next_times("@monthly", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-02-01T00:00:00Z"}));
  EXPECT_EQ(next_times("@annually", "", "2026-01-05T10:00:00Z", 1), (Times{"2027-01-01T00:00:00Z"}));
}

TEST(CronSchedule, AZoneInTheScheduleComesFirst) {
  const Times berlin{"2026-01-06T08:00:00Z"};
  EXPECT_EQ(next_times("TZ=Europe/Berlin 0 9 * * *", "", "2026-01-05T10:00:00Z", 1), berlin);
  EXPECT_EQ(next_times("CRON_TZ=Europe/Berlin   0 9 * * *", "Asia/Kolkata", "2026-01-05T10:00:00Z", 1), berlin);
  EXPECT_EQ(next_times("TZ= 0 9 * * *", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-06T09:00:00Z"}));
  EXPECT_EQ(next_times("0 9 * * *", "Nowhere/X", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-06T09:00:00Z"}));
}

TEST(CronSchedule, RefusesWhatTheLibraryRefuses) {
  for (const std::string_view schedule : {"",
                                          " ",
                                          "* * * *",
                                          "* * * * * *",
                                          "@",
                                          "@reboot",
                                          "@Daily",
                                          "@daily ",
                                          " @daily",
                                          "@every",
                                          "@every ",
                                          "@every x",
                                          "@every 1h ",
                                          "TZ=UTC",
                                          "TZ=../etc 0 9 * * *",
                                          "TZ=/etc/localtime 0 9 * * *",
                                          "TZ=Nowhere/X 0 9 * * *",
                                          "tz=UTC 0 9 * * *",
                                          "TZ=UTC ",
                                          "TZ=UTC TZ=UTC 0 9 * * *",
                                          "0 0 * * 7",
                                          "0 0 0 * *"}) {
    EXPECT_FALSE(CronSchedule::parse(schedule, ZoneFiles())) << schedule;
  }
}

TEST(CronSchedule, AnyWhiteSpaceSeparates) {
  EXPECT_EQ(next_times(" 0\t5 *  *\n* ", "", "2026-01-05T10:00:00Z", 1), (Times{"2026-01-06T05:00:00Z"}));
}

}  // namespace
}  // namespace berth
