#include "core/controllers/job/index_intervals.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Indexes = std::vector<std::int32_t>;

IndexIntervals intervals(std::string_view text) { return IndexIntervals::parse(text, 100); }

TEST(IndexIntervals, AreWrittenAsShortAsPossible) {
  EXPECT_EQ(IndexIntervals().text(), "");
  EXPECT_EQ(IndexIntervals({0, 2, 3, 4, 7, 8}).text(), "0,2-4,7,8");
  EXPECT_EQ(intervals("0,1,2,5-7,8").text(), "0-2,5-8");
}

TEST(IndexIntervals, IndexesBeyondTheCompletionsAreLeftOut) {
  EXPECT_EQ(IndexIntervals::parse("0,2-8,9", 5).text(), "0,2-4");
  EXPECT_EQ(IndexIntervals::parse("5", 5).text(), "");
  EXPECT_EQ(IndexIntervals::parse("0-3", 0).text(), "");
}

TEST(IndexIntervals, WhatIsNoNumberIsLeftOut) {
  for (const std::string_view text : {"x", "-1", "1-", "1-x", "1-2-3", "5-3", "99999999999", ",,"}) {
    EXPECT_TRUE(intervals(text).empty()) << text;
  }
  EXPECT_EQ(intervals("x,3,1-y,5").text(), "3,5");
}

TEST(IndexIntervals, MergingJoinsWhatOverlapsOrTouches) {
  EXPECT_EQ(intervals("0-2,8").merged_with(intervals("3,6-9,20")).text(), "0-3,6-9,20");
  EXPECT_EQ(intervals("5-9").merged_with(intervals("0-20")).text(), "0-20");
}

TEST(IndexIntervals, CountAndMembership) {
  const IndexIntervals some = intervals("0,2-4,90-99");
  EXPECT_EQ(some.total(), 14);
  EXPECT_TRUE(some.has(0) && some.has(2) && some.has(4) && some.has(99));
  EXPECT_FALSE(some.has(1) || some.has(5) || some.has(89));
  EXPECT_EQ(some.common_with(intervals("1-3,50,95-98")), 6);
  EXPECT_EQ(some.common_with(some), 14);
  EXPECT_EQ(some.common_with(IndexIntervals()), 0);
}

TEST(IndexIntervals, TheLowestMissingOnes) {
  EXPECT_EQ(intervals("1,3-5").first_missing(3, 100), (Indexes{0, 2, 6}));
  EXPECT_EQ(intervals("1,3-5").first_missing(9, 7), (Indexes{0, 2, 6}));
  EXPECT_EQ(intervals("0-9").first_missing(9, 10), Indexes());
  EXPECT_EQ(IndexIntervals().first_missing(2, 10), (Indexes{0, 1}));
  EXPECT_EQ(intervals("20-30").first_missing(5, 3), (Indexes{0, 1, 2}));
  EXPECT_EQ(intervals("1").first_missing(0, 10), Indexes());
}

}  // namespace
}  // namespace berth
