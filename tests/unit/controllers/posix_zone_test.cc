#include "core/controllers/time_zones/posix_zone.h"

#include <gtest/gtest.h>

#include "tests/unit/controllers/zone_files.h"

namespace berth {
namespace {

std::int32_t offset_at(std::string_view rule, std::string_view time) {
  const std::optional<PosixZone> zone = PosixZone::parse(rule);
  if (!zone) {
    ADD_FAILURE() << rule;
    return 0;
  }
  return zone->offset_at(at_time(time));
}

TEST(PosixZone, SummerTimeOfTheNorthBeginsAndEndsToTheSecond) {
  constexpr std::string_view kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  EXPECT_EQ(offset_at(kBerlin, "2026-03-29T00:59:59Z"), 3600);
  EXPECT_EQ(offset_at(kBerlin, "2026-03-29T01:00:00Z"), 7200);
  EXPECT_EQ(offset_at(kBerlin, "2026-10-25T00:59:59Z"), 7200);
  EXPECT_EQ(offset_at(kBerlin, "2026-10-25T01:00:00Z"), 3600);
}

TEST(PosixZone, SummerTimeOfTheSouthLastsOverTheNewYear) {
  constexpr std::string_view kSydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";
  EXPECT_EQ(offset_at(kSydney, "2026-01-01T00:00:00Z"), 39'600);
  EXPECT_EQ(offset_at(kSydney, "2026-04-04T15:59:59Z"), 39'600);
  EXPECT_EQ(offset_at(kSydney, "2026-04-04T16:00:00Z"), 36'000);
  EXPECT_EQ(offset_at(kSydney, "2026-10-03T15:59:59Z"), 36'000);
  EXPECT_EQ(offset_at(kSydney, "2026-10-03T16:00:00Z"), 39'600);
  EXPECT_EQ(offset_at(kSydney, "2026-12-31T23:59:59Z"), 39'600);
}

TEST(PosixZone, SummerTimeOfHalfAnHour) {
  constexpr std::string_view kLordHowe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
  EXPECT_EQ(offset_at(kLordHowe, "2026-04-04T14:59:59Z"), 39'600);
  EXPECT_EQ(offset_at(kLordHowe, "2026-04-04T15:00:00Z"), 37'800);
}

TEST(PosixZone, WithoutSummerTimeTheOffsetStays) {
  EXPECT_EQ(offset_at("<+0545>-5:45", "2026-07-01T00:00:00Z"), 20'700);
  EXPECT_EQ(offset_at("<-05>5", "2026-07-01T00:00:00Z"), -18'000);
  EXPECT_EQ(offset_at("ABC-1:02:03", "2026-07-01T00:00:00Z"), 3723);
}

TEST(PosixZone, TimesOfDayMayBeNegativeOrOverADay) {
  // Nuuk: summer time begins on the Saturday before the last Sunday, at 22 o'clock.
  EXPECT_EQ(offset_at("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z"), -7200);
  EXPECT_EQ(offset_at("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z"), -3600);
  // Jerusalem: on the Friday before the last Sunday, as 26 hours after the fourth Thursday.
  EXPECT_EQ(offset_at("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-26T23:59:59Z"), 7200);
  EXPECT_EQ(offset_at("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z"), 10'800);
}

TEST(PosixZone, DaysAreCountedWithAndWithoutLeapDays) {
  EXPECT_EQ(offset_at("AAA0BBB,J60/0,J300", "2024-02-29T12:00:00Z"), 0);
  EXPECT_EQ(offset_at("AAA0BBB,J60/0,J300", "2024-03-01T00:00:00Z"), 3600);
  EXPECT_EQ(offset_at("AAA0BBB,J60/0,J300", "2026-03-01T00:00:00Z"), 3600);
  EXPECT_EQ(offset_at("AAA0BBB,59/0,300", "2024-02-29T00:00:00Z"), 3600);
  EXPECT_EQ(offset_at("AAA0BBB,59/0,300", "2026-02-28T23:59:59Z"), 0);
  EXPECT_EQ(offset_at("AAA0BBB,59/0,300", "2026-03-01T00:00:00Z"), 3600);
}

// RFC 8536, 3.3.1: this is how a file says that summer time is permanent.
TEST(PosixZone, SummerTimeMayLastTheWholeYear) {
  for (const std::string_view time : {"2026-01-01T00:00:00Z", "2026-01-01T04:30:00Z", "2026-07-01T00:00:00Z",
                                      "2026-12-31T23:59:59Z", "2024-12-31T12:00:00Z"}) {
    EXPECT_EQ(offset_at("XXX3EDT4,0/0,J365/23", time), -14'400) << time;
  }
}

TEST(PosixZone, RefusesWhatIsNoRule) {
  for (const std::string_view rule : {"",
                                      "C",
                                      "CET",
                                      "CE-1",
                                      "CET-25",
                                      "CET-1:60",
                                      "<+01-1",
                                      "<+>-1",
                                      "CET-1CEST",
                                      "CET-1CEST,M3.5.0",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,M3.5,M10.5.0",
                                      "CET-1CEST,J0,J1",
                                      "CET-1CEST,J366,J1",
                                      "CET-1CEST,366,1",
                                      "CET-1CEST,M3.5.0/168,M10.5.0",
                                      "CET-1CEST,M3.5.0/,M10.5.0",
                                      "CET-1CEST,M3.5.0,M10.5.0/3 ",
                                      "CET-1CEST,M3.5.0,M10.5.0,M1.1.1",
                                      "CET-99999999999999999999"}) {
    EXPECT_FALSE(PosixZone::parse(rule)) << rule;
  }
}

}  // namespace
}  // namespace berth
