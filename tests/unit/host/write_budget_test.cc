#include "firmware-host/gateway/write_budget.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using State = WriteBudget::State;
constexpr Millis kHour = 3'600'000;

TEST(WriteBudget, IsNearAtFourFifthsAndThenOver) {
  WriteBudget budget(1'000);
  EXPECT_EQ(budget.note(5, 800), State::within);
  EXPECT_EQ(budget.note(6, 801), State::near);
  EXPECT_EQ(budget.note(kHour, 1'000), State::near);
  EXPECT_EQ(budget.note(2 * kHour, 1'001), State::over);
}

TEST(WriteBudget, DropsEachHourADayLater) {
  WriteBudget budget(1'000);
  budget.note(0, 900);
  budget.note(kHour, 1'100);
  EXPECT_EQ(budget.note(24 * kHour - 1, 1'100), State::over);
  EXPECT_EQ(budget.note(24 * kHour, 1'100), State::within);
  EXPECT_EQ(budget.used(), 200u);
  EXPECT_EQ(budget.note(100 * kHour, 1'150), State::within);
  EXPECT_EQ(budget.used(), 50u) << "after a long pause only new writes count";
}

TEST(WriteBudget, IsNeverOverWithoutALimit) {
  WriteBudget budget(0);
  EXPECT_EQ(budget.note(0, ~std::uint64_t{0} / 2), State::within);
}

}  // namespace
}  // namespace berth
