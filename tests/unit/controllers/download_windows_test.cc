#include "core/controllers/rollout/download_windows.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/controllers/zone_files.h"

namespace berth {
namespace {

DownloadWindow window(std::int32_t start, std::int32_t end, std::vector<int> days = {}) {
  return {start * 60, end * 60, std::move(days)};
}
TimeZone zone(const std::string& name) { return load_time_zone(name, ZoneFiles()).value(); }
Millis ms(std::string_view time) { return at_time(time) * 1000; }

TEST(DownloadWindows, WithoutAnyItIsAlwaysOpen) {
  EXPECT_TRUE(is_any_open({}, TimeZone(), 0));
  EXPECT_EQ(next_opening({}, TimeZone(), 0), std::nullopt);
}

TEST(DownloadWindows, TheStartIsInAndTheEndIsOut) {
  EXPECT_FALSE(is_any_open({window(1, 5)}, TimeZone(), ms("2026-01-05T00:59:59Z")));
  EXPECT_TRUE(is_any_open({window(1, 5)}, TimeZone(), ms("2026-01-05T01:00:00Z")));
  EXPECT_TRUE(is_any_open({window(1, 5)}, TimeZone(), ms("2026-01-05T04:59:59Z")));
  EXPECT_FALSE(is_any_open({window(1, 5)}, TimeZone(), ms("2026-01-05T05:00:00Z")));
}

TEST(DownloadWindows, OneOverMidnightIsOfTheDayOnWhichItStarts) {
  const std::vector<DownloadWindow> sunday_night{window(22, 4, {0})};  // 4 January 2026 is a Sunday
  EXPECT_TRUE(is_any_open(sunday_night, TimeZone(), ms("2026-01-04T23:00:00Z")));
  EXPECT_TRUE(is_any_open(sunday_night, TimeZone(), ms("2026-01-05T03:00:00Z")));
  EXPECT_FALSE(is_any_open(sunday_night, TimeZone(), ms("2026-01-04T03:00:00Z")));
  EXPECT_FALSE(is_any_open(sunday_night, TimeZone(), ms("2026-01-05T23:00:00Z")));
}

TEST(DownloadWindows, CountsByTheClocksOfThePlace) {
  const TimeZone berlin = zone("Europe/Berlin");
  EXPECT_TRUE(is_any_open({window(1, 5)}, berlin, ms("2026-07-05T23:00:00Z")));
  EXPECT_FALSE(is_any_open({window(1, 5)}, berlin, ms("2026-01-05T23:00:00Z")));
  EXPECT_EQ(next_opening({window(1, 5)}, berlin, ms("2026-01-05T12:00:00Z")), ms("2026-01-06T00:00:00Z"));
  EXPECT_EQ(next_opening({window(1, 5)}, zone("Asia/Kolkata"), ms("2026-01-05T12:00:00Z")), ms("2026-01-05T19:30:00Z"));
}

TEST(DownloadWindows, TheNextOpeningMayBeAWeekAway) {
  EXPECT_EQ(next_opening({window(1, 5, {1})}, TimeZone(), ms("2026-01-05T02:00:00Z")), ms("2026-01-12T01:00:00Z"));
  EXPECT_EQ(next_opening({window(1, 5, {1}), window(3, 4, {3})}, TimeZone(), ms("2026-01-05T02:00:00Z")),
            ms("2026-01-07T03:00:00Z"));
}

}  // namespace
}  // namespace berth
