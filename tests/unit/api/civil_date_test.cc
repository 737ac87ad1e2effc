#include "core/api/civil_date.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(CivilDate, EveryDayOfNineCenturiesFollowsTheOneBefore) {
  CivilDate expected{.year = 1599, .month = 12, .day = 31};
  for (std::int64_t day = day_number(1599, 12, 31); expected.year < 2500; ++day) {
    ASSERT_EQ(civil_date(day), expected) << day;
    ASSERT_EQ(day_number(expected.year, expected.month, expected.day), day);
    if (++expected.day > days_in(expected.year, expected.month)) {
      expected.day = 1;
      if (++expected.month > 12) expected = {.year = expected.year + 1, .month = 1, .day = 1};
    }
  }
}

TEST(CivilDate, TheLongestAndTheShortestMonth) {
  EXPECT_EQ(days_in(2024, 2), 29);
  EXPECT_EQ(days_in(2026, 2), 28);
  EXPECT_EQ(days_in(1900, 2), 28);
  EXPECT_EQ(days_in(2000, 2), 29);
  EXPECT_EQ(days_in(2026, 12), 31);
}

TEST(CivilDate, AMonthAfterDecemberIsOneOfTheNextYear) { EXPECT_EQ(day_number(2026, 13, 1), day_number(2027, 1, 1)); }

TEST(CivilDate, DaysOfTheWeekAlsoBefore1970) {
  EXPECT_EQ(day_of_week(0), 4);                        // Thursday
  EXPECT_EQ(day_of_week(-1), 3);                       // Wednesday
  EXPECT_EQ(day_of_week(day_number(2026, 3, 29)), 0);  // Sunday
  EXPECT_EQ(day_of_week(day_number(1900, 1, 1)), 1);   // Monday
}

TEST(CivilDate, ATimeBefore1970IsOfTheDayThatContainsIt) {
  EXPECT_EQ(day_of(0), 0);
  EXPECT_EQ(day_of(86'399), 0);
  EXPECT_EQ(day_of(86'400), 1);
  EXPECT_EQ(day_of(-1), -1);
  EXPECT_EQ(day_of(-86'400), -1);
  EXPECT_EQ(day_of(-86'401), -2);
}

}  // namespace
}  // namespace berth
