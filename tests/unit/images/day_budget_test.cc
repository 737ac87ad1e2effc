// How many bytes of images may still be fetched today.
#include "firmware-host/agent/images/day_budget.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/hand_clock.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {
namespace {

constexpr Millis kDay = 86'400'000;

TEST(DayBudget, CountsOverRestartsAndBeginsAgainTheNextDay) {
  const TempDir directory;
  HandClock clock;
  clock.booted_ms = 21'000 * kDay;
  DayBudget first(directory.file("."), 100, clock);
  EXPECT_EQ(first.allowed(), 100);
  *first.left() -= 70;
  first.note(70);
  DayBudget second(directory.file("."), 100, clock);
  EXPECT_EQ(second.allowed(), 30);
  *second.left() -= 50;
  second.note(50);
  EXPECT_EQ(second.allowed(), 0);
  clock.booted_ms += kDay;
  EXPECT_EQ(second.allowed(), 100);
  *second.left() -= 1;
  second.note(1);
  EXPECT_EQ(second.allowed(), 99);
}

TEST(DayBudget, WithoutAClockCountsDaysSinceTheBoot) {
  const TempDir directory;
  HandClock clock;
  clock.booted_ms = 0;
  DayBudget budget(directory.file("."), 100, clock);
  *budget.left() -= 100;
  budget.note(100);
  EXPECT_EQ(budget.allowed(), 0);
  clock.now_ms += kDay;
  EXPECT_EQ(budget.allowed(), 100);
  *budget.left() -= 100;
  budget.note(100);
  clock.booted_ms = 21'000 * kDay;
  EXPECT_EQ(budget.allowed(), 100) << "it has been set";
}

TEST(DayBudget, WhatIsPromisedToOnePullIsNotLeftForAnother) {
  const TempDir directory;
  HandClock clock;
  clock.booted_ms = 21'000 * kDay;
  DayBudget budget(directory.file("."), 100, clock);
  *budget.left() -= 80;
  EXPECT_EQ(budget.allowed(), 20);
  budget.note(50);
  EXPECT_EQ(budget.allowed(), 20) << "they were promised before";
  clock.booted_ms += kDay;
  EXPECT_EQ(budget.allowed(), 70) << "30 of them are still to come, and count today";
  budget.give_back(30);
  EXPECT_EQ(budget.allowed(), 100);
}

TEST(DayBudget, WithoutALimitWritesNothing) {
  const TempDir directory;
  const HandClock clock;
  DayBudget budget(directory.file("."), 0, clock);
  budget.note(1000);
  EXPECT_LT(budget.allowed(), 0);
  EXPECT_EQ(budget.left(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(directory.file(DayBudget::kFile)));
}

}  // namespace
}  // namespace berth
