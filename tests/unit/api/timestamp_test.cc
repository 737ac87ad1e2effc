#include "core/api/timestamp.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Timestamp, CountsMillisecondsSince1970) {
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_timestamp("2025-05-01T00:03:26Z"), 1'746'057'806'000);
  EXPECT_EQ(parse_timestamp("2000-02-29T12:00:00Z"), 951'825'600'000);
  EXPECT_EQ(parse_timestamp("1969-12-31T23:59:59Z"), -1000);
  EXPECT_EQ(parse_timestamp("0000-01-01T00:00:00Z"), -62'167'219'200'000);
  EXPECT_EQ(parse_timestamp("9999-12-31T23:59:59Z"), 253'402'300'799'000);
}

TEST(Timestamp, ReadsOffsetsAndFractions) {
  EXPECT_EQ(parse_timestamp("1970-01-01T02:00:00+02:00"), 0);
  EXPECT_EQ(parse_timestamp("1969-12-31T18:30:00-05:30"), 0);
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00.5Z"), 500);
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00.123999Z"), 123);
}

TEST(Timestamp, IsWrittenAsItIsRead) {
  EXPECT_EQ(to_timestamp(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_timestamp(1'582'934'399'999), "2020-02-28T23:59:59Z");
  EXPECT_EQ(to_timestamp(1'582'934'400'000), "2020-02-29T00:00:00Z");
  for (std::int64_t time = 0; time < 253'402'300'800'000; time += std::int64_t{86'399'000} * 37) {
    EXPECT_EQ(parse_timestamp(to_timestamp(time)), time);
  }
}

TEST(Timestamp, IsWrittenAsClocksOfAZoneShowIt) {
  EXPECT_EQ(to_timestamp_in_zone(1'746'057'806'000, 0), "2025-05-01T00:03:26Z");
  EXPECT_EQ(to_timestamp_in_zone(1'746'057'806'000, 7200), "2025-05-01T02:03:26+02:00");
  EXPECT_EQ(to_timestamp_in_zone(1'746'057'806'000, -12'600), "2025-04-30T20:33:26-03:30");
}

TEST(Timestamp, RefusesInvalidTimes) {
  for (std::string_view text :
       {"", "2025", "2025-05-01", "2025-05-01 00:00:00Z", "2025-05-01T00:00:00", "2025-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2025-00-10T00:00:00Z", "2025-05-00T00:00:00Z",
        "2025-05-01T24:00:00Z", "2025-05-01T00:60:00Z", "2025-05-01T00:00:60Z", "2025-05-01T00:00:00.Z",
        "2025-05-01T00:00:00Zx", "2025-05-01T00:00:00+24:00", "2025-5-1T0:0:0Z", "+025-05-01T00:00:00Z"}) {
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
