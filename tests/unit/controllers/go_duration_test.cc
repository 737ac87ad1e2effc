#include "core/controllers/cron_job/go_duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

TEST(GoDuration, SumsNumbersWithUnits) {
  EXPECT_EQ(parse_go_duration("0"), 0);
  EXPECT_EQ(parse_go_duration("90s"), 90'000'000'000);
  EXPECT_EQ(parse_go_duration("1h30m"), 5'400'000'000'000);
  EXPECT_EQ(parse_go_duration("+1.5s"), 1'500'000'000);
  EXPECT_EQ(parse_go_duration("-2m"), -120'000'000'000);
  EXPECT_EQ(parse_go_duration(".5s"), 500'000'000);
  EXPECT_EQ(parse_go_duration("1.s"), 1'000'000'000);
  EXPECT_EQ(parse_go_duration("1ms2us3ns"), 1'002'003);
  EXPECT_EQ(parse_go_duration("1µs"), 1000);
  EXPECT_EQ(parse_go_duration("1μs"), 1000);
  EXPECT_EQ(parse_go_duration("1s1h"), 3'601'000'000'000);
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const std::string_view text : {"", "-", "+", "1", "s", ".s", "x", "1x", "1 s", "1s ", " 1s", "1d", "1S", "--1s",
                                      "1h-1m", "99999999999999999999s", "9223372036854775808ns", "2562048h"}) {
    EXPECT_EQ(parse_go_duration(text), std::nullopt) << text;
  }
}

TEST(GoDuration, HoldsTheLargestOnes) {
  EXPECT_EQ(parse_go_duration("9223372036854775807ns"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_go_duration("-9223372036854775808ns"), std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace berth
